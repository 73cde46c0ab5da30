//! What the rules do with start tags, mode by mode.

use super::stack::Plain;
use super::{MERGED_TAGS, Mode, Nesting, Step, Tag};
use crate::page::html::names::{Kind, set};

impl Nesting<'_> {
    /// A start tag was read.
    pub(in crate::page::html) fn start(&mut self, tag: Tag) -> Plain {
        self.ignores_line_feed = false;
        let kind = self.stack.kind(tag.name);
        if matches!(kind, Kind::Html | Kind::Body) {
            self.merged_tags += 1;
            if self.merged_tags > MERGED_TAGS {
                return None;
            }
        }
        if kind == Kind::Html
            && let Some(&html) = self.stack.open.first()
        {
            return self.stack.merge(html, tag);
        }
        loop {
            match self.mode {
                Mode::BeforeHtml if kind == Kind::Html => {
                    self.stack.insert(tag)?;
                    self.mode = Mode::BeforeHead;
                    return Some(());
                }
                Mode::BeforeHead if kind == Kind::Head => {
                    self.stack.insert(tag)?;
                    self.mode = Mode::InHead;
                    return Some(());
                }
                Mode::Initial | Mode::BeforeHtml | Mode::BeforeHead => self.leave_head()?,
                Mode::InHead => match kind {
                    Kind::Noscript => {
                        self.stack.insert(tag)?;
                        self.mode = Mode::InHeadNoscript;
                        return Some(());
                    }
                    Kind::Head => return Some(()),
                    kind if is_of_head(kind) => return self.start_in_head(kind, tag),
                    _ => self.leave_head()?,
                },
                Mode::InHeadNoscript => match kind {
                    Kind::Meta if self.stack.local(tag.name) != "base" => {
                        return self.start_in_head(kind, tag);
                    }
                    Kind::Noframes | Kind::Style => return self.start_in_head(kind, tag),
                    Kind::Head | Kind::Noscript => return Some(()),
                    _ => self.leave_head()?,
                },
                Mode::AfterHead => match kind {
                    Kind::Body => {
                        self.stack.insert(tag)?;
                        self.mode = Mode::InBody;
                        return Some(());
                    }
                    Kind::Head => return Some(()),
                    // They would get into the head, in front of what was added since.
                    kind if is_of_head(kind) => return None,
                    Kind::Frameset => return None,
                    _ => self.leave_head()?,
                },
                Mode::AfterBody | Mode::AfterAfterBody => self.mode = Mode::InBody,
                Mode::InTable => match self.start_in_table(kind, tag)? {
                    Step::Done => return Some(()),
                    Step::Again => {}
                },
                Mode::InCell if is_of_table(kind) => {
                    if !self
                        .stack
                        .has_in_scope(set::TABLES, |it| it.sets & set::CELLS != 0)
                    {
                        return Some(());
                    }
                    self.close_cell();
                }
                Mode::InCaption if is_of_table(kind) => {
                    if !self.close_caption() {
                        return Some(());
                    }
                }
                Mode::InBody | Mode::InCell | Mode::InCaption => {
                    return self.start_in_body(kind, tag);
                }
                Mode::InColumnGroup => match kind {
                    Kind::Col => return self.stack.insert_empty(tag).map(|_| ()),
                    Kind::Template => return self.start_in_head(kind, tag),
                    _ => {
                        if !self.stack.has_open(Kind::Colgroup) {
                            return Some(());
                        }
                        self.stack.pop();
                        self.mode = Mode::InTable;
                    }
                },
                Mode::InTableBody | Mode::InRow => match self.start_in_rows(kind, tag)? {
                    Step::Done => return Some(()),
                    Step::Again => {}
                },
            }
        }
    }

    fn start_in_head(&mut self, kind: Kind, tag: Tag) -> Plain {
        match kind {
            Kind::Meta => self.stack.insert_empty(tag).map(|_| ()),
            Kind::Title | Kind::Noframes | Kind::Style | Kind::Script | Kind::Template => {
                self.stack.insert(tag).map(|_| ())
            }
            _ => None,
        }
    }

    fn start_in_rows(&mut self, kind: Kind, tag: Tag) -> Plain<Step> {
        match (self.mode, kind) {
            (Mode::InRow, Kind::Cell) => {
                self.stack.pop_back_to(set::AROUND_CELLS);
                self.stack.insert(tag)?;
                self.mode = Mode::InCell;
                self.stack.mark_formatting();
                Some(Step::Done)
            }
            (Mode::InRow, kind) if is_of_table(kind) => Some(match self.close_row() {
                true => Step::Again,
                false => Step::Done,
            }),
            (_, Kind::Row) => {
                self.stack.pop_back_to(set::AROUND_ROWS);
                self.stack.insert(tag)?;
                self.mode = Mode::InRow;
                Some(Step::Done)
            }
            (_, Kind::Cell) => {
                self.stack.pop_back_to(set::AROUND_ROWS);
                let row = self.stack.phantom("tr");
                self.stack.insert(row)?;
                self.mode = Mode::InRow;
                Some(Step::Again)
            }
            (_, kind) if is_of_table(kind) => Some(match self.close_section() {
                true => Step::Again,
                false => Step::Done,
            }),
            _ => self.start_in_table(kind, tag),
        }
    }

    fn start_in_table(&mut self, kind: Kind, tag: Tag) -> Plain<Step> {
        let phantom = match kind {
            Kind::Caption | Kind::Colgroup | Kind::Section => {
                self.stack.pop_back_to(set::TABLES);
                self.stack.insert(tag)?;
                self.mode = match kind {
                    Kind::Caption => {
                        self.stack.mark_formatting();
                        Mode::InCaption
                    }
                    Kind::Colgroup => Mode::InColumnGroup,
                    _ => Mode::InTableBody,
                };
                return Some(Step::Done);
            }
            Kind::Col => ("colgroup", Mode::InColumnGroup),
            Kind::Cell | Kind::Row => ("tbody", Mode::InTableBody),
            Kind::Table => {
                if !self.stack.has_kind_in_scope(set::TABLES, Kind::Table) {
                    return Some(Step::Done);
                }
                self.stack.pop_until_kind(Kind::Table);
                self.reset_mode();
                return Some(Step::Again);
            }
            Kind::Style | Kind::Script | Kind::Template => {
                self.start_in_head(kind, tag)?;
                return Some(Step::Done);
            }
            Kind::Input if self.stack.is_hidden(tag) => {
                self.stack.insert_empty(tag)?;
                return Some(Step::Done);
            }
            Kind::Form => {
                if self.form.is_none() {
                    self.form = Some(self.stack.insert_empty(tag)?);
                }
                return Some(Step::Done);
            }
            // It would get in front of the table.
            _ => return None,
        };
        self.stack.pop_back_to(set::TABLES);
        let (name, mode) = phantom;
        let element = self.stack.phantom(name);
        self.stack.insert(element)?;
        self.mode = mode;
        Some(Step::Again)
    }

    #[expect(
        clippy::too_many_lines,
        reason = "a list, one rule for each kind of element"
    )]
    fn start_in_body(&mut self, kind: Kind, tag: Tag) -> Plain {
        match kind {
            Kind::Html | Kind::Frameset | Kind::Plaintext | Kind::Math | Kind::Gone => {
                return None;
            }
            Kind::Body => {
                if let Some(&body) = self.stack.open.get(1).filter(|it| it.kind == Kind::Body) {
                    self.stack.merge(body, tag)?;
                }
            }
            Kind::Meta
            | Kind::Title
            | Kind::Noframes
            | Kind::Style
            | Kind::Script
            | Kind::Template => return self.start_in_head(kind, tag),
            Kind::Block | Kind::P => {
                self.stack.close_p_in_button_scope();
                self.stack.insert(tag)?;
            }
            Kind::Heading => {
                self.stack.close_p_in_button_scope();
                if self.stack.has_open_of(set::HEADINGS) {
                    self.stack.pop();
                }
                self.stack.insert(tag)?;
            }
            Kind::Pre => {
                self.stack.close_p_in_button_scope();
                self.stack.insert(tag)?;
                self.ignores_line_feed = true;
            }
            Kind::Form => {
                if self.form.is_none() {
                    self.stack.close_p_in_button_scope();
                    self.form = Some(self.stack.insert(tag)?);
                }
            }
            Kind::Li | Kind::Dd => self.start_item(kind, tag)?,
            Kind::Button => {
                if self.stack.has_kind_in_scope(set::SCOPE, Kind::Button) {
                    self.stack.generate_implied_end_tags(|_| false);
                    self.stack.pop_until_kind(Kind::Button);
                }
                self.stack.reconstruct_formatting()?;
                self.stack.insert(tag)?;
            }
            Kind::A => {
                self.stack.end_of_a()?;
                self.stack.reconstruct_formatting()?;
                self.stack.insert_formatting(tag)?;
            }
            Kind::Format => {
                self.stack.reconstruct_formatting()?;
                self.stack.insert_formatting(tag)?;
            }
            Kind::Nobr => {
                self.stack.reconstruct_formatting()?;
                if self.stack.has_kind_in_scope(set::SCOPE, Kind::Nobr) {
                    self.stack.adoption_agency(tag.name)?;
                    self.stack.reconstruct_formatting()?;
                }
                self.stack.insert_formatting(tag)?;
            }
            Kind::Marked => {
                self.stack.reconstruct_formatting()?;
                self.stack.insert(tag)?;
                self.stack.mark_formatting();
            }
            Kind::Table => self.start_table(tag)?,
            Kind::Void | Kind::Br | Kind::Image => {
                self.stack.reconstruct_formatting()?;
                self.stack.insert_empty(tag)?;
            }
            Kind::Input => {
                if self.stack.has_kind_in_scope(set::SCOPE, Kind::Select) {
                    self.stack.pop_until_kind(Kind::Select);
                }
                self.stack.reconstruct_formatting()?;
                self.stack.insert_empty(tag)?;
            }
            Kind::Param => {
                self.stack.insert_empty(tag)?;
            }
            Kind::Hr => {
                self.stack.close_p_in_button_scope();
                if self.stack.has_kind_in_scope(set::SCOPE, Kind::Select) {
                    self.stack.generate_implied_end_tags(|_| false);
                }
                self.stack.insert_empty(tag)?;
            }
            Kind::Textarea => {
                self.stack.insert(tag)?;
                self.ignores_line_feed = true;
            }
            Kind::Xmp => {
                self.stack.close_p_in_button_scope();
                self.stack.reconstruct_formatting()?;
                self.stack.insert(tag)?;
            }
            Kind::Unread => {
                self.stack.insert(tag)?;
            }
            Kind::Select | Kind::Option | Kind::Optgroup => self.start_choice(kind, tag)?,
            Kind::Rb | Kind::Rtc | Kind::Rp => {
                if self.stack.has_kind_in_scope(set::SCOPE, Kind::Ruby) {
                    let keeps = kind == Kind::Rp;
                    self.stack
                        .generate_implied_end_tags(|it| keeps && it.kind == Kind::Rtc);
                }
                self.stack.insert(tag)?;
            }
            Kind::Svg if tag.is_self_closing => {
                self.stack.reconstruct_formatting()?;
                self.stack.insert_empty(tag)?;
            }
            Kind::Caption
            | Kind::Cell
            | Kind::Col
            | Kind::Colgroup
            | Kind::Head
            | Kind::Row
            | Kind::Section
            | Kind::Unplaced => {}
            Kind::Svg | Kind::Noscript | Kind::Ruby | Kind::Ordinary => {
                self.stack.reconstruct_formatting()?;
                self.stack.insert(tag)?;
            }
        }
        Some(())
    }

    fn start_item(&mut self, kind: Kind, tag: Tag) -> Plain {
        for element in self.stack.open.iter().rev() {
            if element.kind == kind {
                let name = element.name;
                self.stack.generate_implied_end_tags(|it| it.name == name);
                self.stack.pop_until(|it| it.name == name);
                break;
            }
            let is_passed = element.kind == Kind::P || self.stack.is_plain_block(element.name);
            if element.sets & set::SPECIAL != 0 && !is_passed {
                break;
            }
        }
        self.stack.close_p_in_button_scope();
        self.stack.insert(tag)?;
        Some(())
    }

    fn start_choice(&mut self, kind: Kind, tag: Tag) -> Plain {
        if self.stack.has_kind_in_scope(set::SCOPE, Kind::Select) {
            match kind {
                Kind::Select => {
                    self.stack.pop_until_kind(Kind::Select);
                    return Some(());
                }
                Kind::Option => {
                    self.stack
                        .generate_implied_end_tags(|it| it.kind == Kind::Optgroup);
                }
                _ => self.stack.generate_implied_end_tags(|_| false),
            }
        } else if kind != Kind::Select && self.stack.has_open(Kind::Option) {
            self.stack.pop();
        }
        self.stack.reconstruct_formatting()?;
        self.stack.insert(tag)?;
        Some(())
    }

    fn start_table(&mut self, tag: Tag) -> Plain {
        if self.stack.has_p() {
            match self.has_quirks {
                Some(true) => {}
                Some(false) => self.stack.close_p(),
                None => return None,
            }
        }
        self.stack.insert(tag)?;
        self.mode = Mode::InTable;
        Some(())
    }
}

/// Whether these belong into a head.
fn is_of_head(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Meta | Kind::Title | Kind::Noframes | Kind::Style | Kind::Script | Kind::Template
    )
}

/// Whether these are parts of a table.
fn is_of_table(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Caption | Kind::Col | Kind::Colgroup | Kind::Section | Kind::Cell | Kind::Row
    )
}
