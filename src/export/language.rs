//! The language of a page: that of its text, else the one that it declares.

use crate::engine::{PageLine, ReadText};

/// The language of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Language {
    /// The language that its text is in, and the score of that in thousandths.
    pub detected: Option<(String, u16)>,
    /// The language that it declares.
    pub declared: Option<String>,
}

impl Language {
    pub(super) fn of(page: &PageLine, read: Option<&ReadText>) -> Self {
        let found = || {
            let found = read?.page.detected_language?;
            Some((found.language.to_owned(), found.permille))
        };
        Self {
            detected: page.detected.clone().or_else(found),
            declared: page.language.clone(),
        }
    }

    /// Returns the detected language, else the declared one.
    pub fn name(&self) -> Option<&str> {
        let detected = self.detected.as_ref();
        let detected = detected.map(|(language, _)| language.as_str());
        detected.or(self.declared.as_deref())
    }

    /// Returns the score of the detected language, 0 to 1.
    pub fn score(&self) -> Option<f32> {
        let detected = self.detected.as_ref();
        detected.map(|(_, permille)| f32::from(*permille) / 1000.0)
    }
}
