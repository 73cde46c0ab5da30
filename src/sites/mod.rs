//! Pages as pages of a site: which site, what of their lines is its template and what is their own,
//! and how the own parts of two pages compare. Crawls and corpora share it; pure.

mod mask;
mod name;
mod own_lines;

mod company;

pub(crate) use company::{company, compare_own};
pub(crate) use mask::line_mask;
pub(crate) use name::SiteName;
pub(crate) use own_lines::{
    class, headline, is_volatile, known, lines, own_lines, slots, standings,
};
