//! The progress of a command that reads many things: a live line with their number on a terminal,
//! nothing elsewhere.

use std::io::{self, IsTerminal as _, Write};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{LIVE, moves_the_cursor};
use crate::cli::output::Screen;

/// Shows how many things were read until dropped, which removes the line.
#[derive(Debug)]
pub(in crate::cli) struct Counted {
    screen: Screen,
    line: Option<ProgressBar>,
}

impl Counted {
    /// Starts to show it, of a command that writes its data to standard output: not if that is the
    /// terminal too, on which both would be in each other's way.
    pub(in crate::cli) fn beside_data(screen: &Screen, things: &str) -> Self {
        Self::unless(io::stdout().is_terminal(), screen, things)
    }

    /// Starts to show it, of a command that writes its data to files.
    pub(in crate::cli) fn beside_files(screen: &Screen, things: &str) -> Self {
        Self::unless(false, screen, things)
    }

    fn unless(is_in_the_way: bool, screen: &Screen, things: &str) -> Self {
        let is_shown = !screen.is_quiet() && !is_in_the_way && moves_the_cursor();
        let line = is_shown.then(|| {
            let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let template = format!("{{spinner}} {{human_pos}} {things}, {{per_sec}}{{msg}}");
            let style = ProgressStyle::with_template(&template);
            line.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            line.enable_steady_tick(LIVE);
            line
        });
        if let Some(line) = &line {
            screen.show(line.clone());
        }
        let screen = screen.clone();
        Self { screen, line }
    }

    /// Counts one more.
    pub(in crate::cli) fn one(&self) {
        if let Some(line) = &self.line {
            line.inc(1);
        }
    }

    /// A writer of lines: how many were written is told too.
    pub(in crate::cli) fn written<W: Write>(&self, out: W) -> Written<'_, W> {
        Written {
            out,
            lines: 0,
            counted: self,
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if self.line.is_some() {
            self.screen.clear();
        }
    }
}

/// Writes lines, and tells how many.
#[derive(Debug)]
pub(in crate::cli) struct Written<'a, W> {
    out: W,
    lines: u64,
    counted: &'a Counted,
}

impl<W: Write> Write for Written<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.out.write(bytes)?;
        if let Some(line) = &self.counted.line {
            let written = bytes.get(..length).unwrap_or_default();
            let ends = memchr::memchr_iter(b'\n', written).count() as u64;
            if ends > 0 {
                self.lines += ends;
                line.set_message(format!(", {} written", self.lines));
            }
        }
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
