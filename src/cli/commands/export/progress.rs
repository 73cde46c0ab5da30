//! What an export tells while it runs.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::cli::output::Screen;
use crate::cli::progress;
use crate::export::Error;

/// The number of pages so far, on a terminal.
pub(super) struct Progress<'a> {
    screen: &'a Screen,
    line: Option<ProgressBar>,
}

impl<'a> Progress<'a> {
    pub(super) fn start(screen: &'a Screen) -> Self {
        let line = progress::moves_the_cursor().then(|| {
            let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{spinner} {human_pos} pages, {per_sec}");
            line.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            line.enable_steady_tick(Duration::from_millis(250));
            line
        });
        if let Some(line) = &line {
            screen.show(line.clone());
        }
        Self { screen, line }
    }

    pub(super) fn count(&self, done: Result<(), Error>) -> Result<(), Error> {
        self.step();
        done
    }

    /// Counts a page.
    pub(super) fn step(&self) {
        if let Some(line) = &self.line {
            line.inc(1);
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.screen.clear();
    }
}
