//! A line of text as it is put together: pieces, and the marks around them that are open.

use super::{Mark, Piece};

/// A line as it is put together.
#[derive(Default)]
pub(super) struct Line {
    pub(super) pieces: Vec<Piece>,
    open: Vec<Mark>,
    /// Whether white space stands before what comes next.
    pub(super) space: bool,
    /// Number of bytes that are left.
    room: usize,
    /// Whether something did not fit.
    pub(super) is_full: bool,
}

impl Line {
    /// An empty line that takes about `room` bytes.
    pub(super) fn new(room: usize) -> Self {
        Self {
            room,
            ..Self::default()
        }
    }

    /// Adds a piece that stands in these marks, the outermost first.
    pub(super) fn push(&mut self, marks: Vec<Mark>, piece: Piece) {
        let links: usize = marks.iter().map(Mark::size).sum();
        let size = piece.size() + links;
        self.is_full |= size > self.room;
        if self.is_full {
            return;
        }
        self.room -= size;
        let same = self
            .open
            .iter()
            .zip(&marks)
            .take_while(|(one, other)| one == other)
            .count();
        self.close(same);
        if self.space && !self.pieces.is_empty() {
            self.pieces.push(Piece::Space);
        }
        for mark in marks.into_iter().skip(same) {
            // What ends and begins at once goes on.
            if self.pieces.last() == Some(&Piece::Close(mark.clone())) {
                self.pieces.pop();
            } else {
                self.pieces.push(Piece::Open(mark.clone()));
            }
            self.open.push(mark);
        }
        self.pieces.push(piece);
        self.space = false;
    }

    /// Adds more to the formula that was added last.
    pub(super) fn extend_formula(&mut self, more: &str) {
        let last = self.pieces.iter_mut().rev().find_map(|piece| match piece {
            Piece::Formula(text, _) => Some(text),
            _ => None,
        });
        if let Some(text) = last.filter(|_| more.len() <= self.room) {
            self.room -= more.len();
            text.push_str(more);
        }
    }

    /// Closes all marks but the first ones.
    pub(super) fn close(&mut self, kept: usize) {
        while self.open.len() > kept {
            self.pieces.extend(self.open.pop().map(Piece::Close));
        }
    }
}

impl Mark {
    fn size(&self) -> usize {
        match self {
            Self::Link(target) => 2 * target.len() + 4,
            _ => 8,
        }
    }
}

impl Piece {
    /// About as many bytes as it takes when it is written.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Text(text) | Self::Formula(text, _) | Self::Note(text) => text.len() + 1,
            Self::Image(alt, source) => alt.len() + source.len() + 5,
            Self::Open(mark) | Self::Close(mark) => mark.size() / 2,
            Self::Space => 1,
        }
    }
}
