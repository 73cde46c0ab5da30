//! What the rules do with end tags, mode by mode.

use super::stack::Plain;
use super::{Mode, Nesting, Step};
use crate::page::html::names::{Kind, set};

impl Nesting<'_> {
    /// An end tag was read.
    pub(in crate::page::html) fn end(&mut self, name: u32) -> Plain {
        self.ignores_line_feed = false;
        let kind = self.stack.kind(name);
        let is_of_page = matches!(kind, Kind::Html | Kind::Body | Kind::Br);
        loop {
            match self.mode {
                Mode::InBody => return self.end_in_body(kind, name),
                Mode::Initial => self.leave_head()?,
                Mode::InHead if kind == Kind::Head => {
                    self.stack.pop();
                    self.mode = Mode::AfterHead;
                    return Some(());
                }
                Mode::InHeadNoscript if kind == Kind::Noscript => {
                    self.stack.pop();
                    self.mode = Mode::InHead;
                    return Some(());
                }
                Mode::InHeadNoscript if kind != Kind::Br => return Some(()),
                Mode::BeforeHtml | Mode::BeforeHead if kind == Kind::Head => self.leave_head()?,
                Mode::BeforeHtml
                | Mode::BeforeHead
                | Mode::InHead
                | Mode::InHeadNoscript
                | Mode::AfterHead => {
                    if !is_of_page {
                        return Some(());
                    }
                    self.leave_head()?;
                }
                Mode::AfterBody if kind == Kind::Html => {
                    self.mode = Mode::AfterAfterBody;
                    return Some(());
                }
                Mode::AfterBody | Mode::AfterAfterBody => self.mode = Mode::InBody,
                Mode::InCell => match self.end_in_cell(kind, name)? {
                    Step::Done => return Some(()),
                    Step::Again => {}
                },
                Mode::InCaption => match kind {
                    Kind::Caption | Kind::Table => {
                        if !self.close_caption() || kind == Kind::Caption {
                            return Some(());
                        }
                    }
                    kind if is_ignored(kind) => return Some(()),
                    _ => return self.end_in_body(kind, name),
                },
                Mode::InColumnGroup => {
                    if matches!(kind, Kind::Col | Kind::Template)
                        || !self.stack.has_open(Kind::Colgroup)
                    {
                        return Some(());
                    }
                    self.stack.pop();
                    self.mode = Mode::InTable;
                    if kind == Kind::Colgroup {
                        return Some(());
                    }
                }
                Mode::InTableBody => match kind {
                    Kind::Section => {
                        if self.stack.has_in_scope(set::TABLES, |it| it.name == name) {
                            self.stack.pop_back_to(set::AROUND_ROWS);
                            self.stack.pop();
                            self.mode = Mode::InTable;
                        }
                        return Some(());
                    }
                    Kind::Table => {
                        if !self.close_section() {
                            return Some(());
                        }
                    }
                    _ => return self.end_in_table(kind, name),
                },
                Mode::InRow => match kind {
                    Kind::Row => {
                        self.close_row();
                        return Some(());
                    }
                    Kind::Section
                        if !self.stack.has_in_scope(set::TABLES, |it| it.name == name) =>
                    {
                        return Some(());
                    }
                    Kind::Table | Kind::Section => {
                        if !self.close_row() {
                            return Some(());
                        }
                    }
                    _ => return self.end_in_table(kind, name),
                },
                Mode::InTable => return self.end_in_table(kind, name),
            }
        }
    }

    fn end_in_cell(&mut self, kind: Kind, name: u32) -> Plain<Step> {
        match kind {
            Kind::Cell => {
                if self.stack.has_in_scope(set::TABLES, |it| it.name == name) {
                    self.stack.generate_implied_end_tags(|_| false);
                    self.stack.pop_until(|it| it.name == name);
                    self.stack.clear_formatting();
                    self.mode = Mode::InRow;
                }
            }
            Kind::Body | Kind::Caption | Kind::Col | Kind::Colgroup | Kind::Html => {}
            Kind::Table | Kind::Section | Kind::Row => {
                if self.stack.has_in_scope(set::TABLES, |it| it.name == name) {
                    self.close_cell();
                    return Some(Step::Again);
                }
            }
            _ => self.end_in_body(kind, name)?,
        }
        Some(Step::Done)
    }

    pub(super) fn close_cell(&mut self) {
        self.stack.generate_implied_end_tags(|_| false);
        self.stack.pop_until(|it| it.sets & set::CELLS != 0);
        self.stack.clear_formatting();
        self.mode = Mode::InRow;
    }

    /// Closes a caption. Returns whether there is one.
    pub(super) fn close_caption(&mut self) -> bool {
        if !self.stack.has_kind_in_scope(set::TABLES, Kind::Caption) {
            return false;
        }
        self.stack.generate_implied_end_tags(|_| false);
        self.stack.pop_until_kind(Kind::Caption);
        self.stack.clear_formatting();
        self.mode = Mode::InTable;
        true
    }

    /// Closes a row. Returns whether there is one.
    pub(super) fn close_row(&mut self) -> bool {
        if !self.stack.has_kind_in_scope(set::TABLES, Kind::Row) {
            return false;
        }
        self.stack.pop_back_to(set::AROUND_CELLS);
        self.stack.pop();
        self.mode = Mode::InTableBody;
        true
    }

    /// Closes a section of a table. Returns whether there is one.
    pub(super) fn close_section(&mut self) -> bool {
        let is_there = |kind: Kind| matches!(kind, Kind::Section | Kind::Table);
        if !self.stack.has_in_scope(set::TABLES, |it| is_there(it.kind)) {
            return false;
        }
        self.stack.pop_back_to(set::AROUND_ROWS);
        self.stack.pop();
        self.mode = Mode::InTable;
        true
    }

    fn end_in_table(&mut self, kind: Kind, name: u32) -> Plain {
        match kind {
            Kind::Table => {
                if self.stack.has_kind_in_scope(set::TABLES, Kind::Table) {
                    self.stack.pop_until_kind(Kind::Table);
                    self.reset_mode();
                }
                Some(())
            }
            kind if is_ignored(kind) => Some(()),
            // They would get in front of the table.
            Kind::P | Kind::Br => None,
            _ => self.end_in_body(kind, name),
        }
    }

    fn end_in_body(&mut self, kind: Kind, name: u32) -> Plain {
        match kind {
            Kind::Template => {}
            Kind::Body | Kind::Html => {
                if self.stack.has_kind_in_scope(set::SCOPE, Kind::Body) {
                    self.mode = match kind {
                        Kind::Body => Mode::AfterBody,
                        _ => Mode::AfterAfterBody,
                    };
                }
            }
            Kind::Block | Kind::Button | Kind::Pre | Kind::Select | Kind::Marked => {
                if self.stack.has_in_scope(set::SCOPE, |it| it.name == name) {
                    self.stack.generate_implied_end_tags(|_| false);
                    self.stack.pop_until(|it| it.name == name);
                    if kind == Kind::Marked {
                        self.stack.clear_formatting();
                    }
                }
            }
            Kind::Form => {
                if let Some(form) = self.form.take()
                    && self.stack.has_in_scope(set::SCOPE, |it| it.node == form)
                {
                    self.stack.generate_implied_end_tags(|_| false);
                    self.stack.remove(form);
                }
            }
            Kind::P => {
                if !self.stack.has_p() {
                    let p = self.stack.phantom("p");
                    self.stack.insert(p)?;
                }
                self.stack.close_p();
            }
            Kind::Li | Kind::Dd => {
                let lists = if kind == Kind::Li { set::LISTS } else { 0 };
                if self
                    .stack
                    .has_in_scope(set::SCOPE | lists, |it| it.name == name)
                {
                    self.stack.generate_implied_end_tags(|it| it.name == name);
                    self.stack.pop_until(|it| it.name == name);
                }
            }
            Kind::Heading => {
                if self
                    .stack
                    .has_in_scope(set::SCOPE, |it| it.sets & set::HEADINGS != 0)
                {
                    self.stack.generate_implied_end_tags(|_| false);
                    self.stack.pop_until(|it| it.sets & set::HEADINGS != 0);
                }
            }
            Kind::A | Kind::Format | Kind::Nobr => self.stack.adoption_agency(name)?,
            Kind::Br => {
                let br = self.stack.phantom("br");
                self.start(br)?;
            }
            _ => self.stack.end_of_any_other(name),
        }
        Some(())
    }
}

/// Whether a table ignores this end.
fn is_ignored(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Body
            | Kind::Caption
            | Kind::Col
            | Kind::Colgroup
            | Kind::Html
            | Kind::Section
            | Kind::Cell
            | Kind::Row
            | Kind::Template
    )
}
