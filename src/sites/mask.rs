//! Masks for the lines of a page: what is masked in its text is masked in them.

use crate::dedup::Masks;
use crate::page::LineMask;

/// The mask of lines that goes with masks of texts.
pub(crate) fn line_mask(masks: Masks) -> LineMask {
    match masks.is_empty() {
        true => LineMask::default(),
        false => LineMask::new(move |line| masks.apply(line)),
    }
}
