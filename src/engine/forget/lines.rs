//! Lines of the log that tell of what goes: they are overwritten, or lose what they say of it.

use serde_json::Value;

use super::selected::Selected;
use crate::journal::{FORGOTTEN_LINE, RecordPlace};

/// A line, as far as it matters here.
pub(super) struct Line(Value);

impl Line {
    /// Reads a line; `None` if it is not one, or was overwritten before.
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        if line.starts_with(FORGOTTEN_LINE) {
            return None;
        }
        serde_json::from_slice(line).ok().map(Self)
    }

    /// Returns `true` if it is the line of a visit of what goes.
    pub(super) fn is_about(&self, selected: &Selected) -> bool {
        self.names("/url", selected)
    }

    /// Returns `true` if it is the line of a visit that repeated what goes.
    pub(super) fn repeats(&self, selected: &Selected) -> bool {
        self.names("/original", selected)
    }

    /// Returns the places of the records that the visit added.
    pub(super) fn places(&self) -> Vec<RecordPlace> {
        let place = |pointer| serde_json::from_value(self.0.pointer(pointer)?.clone()).ok();
        let record: Option<RecordPlace> = place("/page/record");
        let text: Option<RecordPlace> = place("/page/text");
        // The text may be that of another page's response.
        let text = text.filter(|it| it.file.starts_with("texts-"));
        record.into_iter().chain(text).collect()
    }

    fn names(&self, pointer: &str, selected: &Selected) -> bool {
        let url = self.0.pointer(pointer).and_then(Value::as_str);
        url.is_some_and(|url| selected.has(url))
    }
}

/// Returns what stands in place of a line that says something of what goes, which is never longer;
/// `None` if it says nothing.
pub(super) fn without(line: &[u8], selected: &Selected) -> Option<Vec<u8>> {
    let mut line = Line::parse(line)?;
    // Whoever repeated what goes has a new line, or is visited again.
    if line.is_about(selected) || line.repeats(selected) {
        return Some(FORGOTTEN_LINE.to_vec());
    }
    let mut is_changed = false;
    for (of, name) in [("", "via"), ("/page", "canonical_hint")] {
        if line.names(&format!("{of}/{name}"), selected)
            && let Some(object) = line.0.pointer_mut(of).and_then(Value::as_object_mut)
        {
            object.insert(name.to_owned(), Value::Null);
            is_changed = true;
        }
    }
    if line.names("/page/group/url", selected)
        && let Some(page) = line.0.pointer_mut("/page").and_then(Value::as_object_mut)
    {
        page.remove("group");
        is_changed = true;
    }
    is_changed.then(|| line.0.to_string().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::forget::selected::Forgetting;
    use crate::frontier::{ForgetRules, Selection};
    use crate::journal::{LogLine, PageGroup, PageLine};
    use crate::url::{Canonicalizer, Identity, Secret};

    fn selected() -> Selected {
        let selection = Selection {
            hosts: vec!["gone.example".parse().unwrap()],
            ..Selection::default()
        };
        let forgetting = Forgetting {
            rules: ForgetRules::from(&selection),
            ..Forgetting::default()
        };
        let secret = Secret::from_bytes([0; Secret::LEN]);
        Selected::new(forgetting, Identity::new(Canonicalizer::default(), secret))
    }

    fn line(url: &str, via: Option<&str>, original: Option<&str>) -> LogLine {
        LogLine {
            url: url.to_owned(),
            via: via.map(str::to_owned),
            original: original.map(str::to_owned),
            ..LogLine::default()
        }
    }

    #[track_caller]
    fn after(line: &LogLine) -> Option<String> {
        let text = serde_json::to_vec(line).unwrap();
        let instead = without(&text, &selected())?;
        assert!(instead.len() <= text.len(), "{}", text.len());
        assert!(!instead.windows(4).any(|it| it == b"gone"));
        Some(String::from_utf8(instead).unwrap())
    }

    #[test]
    fn lines_lose_what_they_say_of_what_goes() {
        let (gone, stays) = ("http://gone.example/1", "http://a.example/");
        let nothing = r#"{"forgotten":true}"#;
        assert_eq!(after(&line(gone, None, None)).as_deref(), Some(nothing));
        assert_eq!(
            after(&line(stays, None, Some(gone))).as_deref(),
            Some(nothing)
        );
        assert_eq!(after(&line(stays, Some(stays), Some(stays))), None);
        let mut of = line(stays, Some(gone), None);
        of.page = Some(Box::new(PageLine {
            title: Some("stays".to_owned()),
            canonical_hint: Some(gone.to_owned()),
            group: Some(PageGroup {
                url: gone.to_owned(),
                tier: crate::dedup::Tier::Near,
                similarity: crate::dedup::Similarity::of(0.5),
                digits_only: false,
            }),
            ..PageLine::default()
        }));
        let left: LogLine = serde_json::from_str(&after(&of).unwrap()).unwrap();
        assert_eq!((left.url.as_str(), left.via), (stays, None));
        let page = left.page.unwrap();
        assert_eq!((page.group, page.canonical_hint), (None, None));
        assert_eq!(page.title.as_deref(), Some("stays"));
    }
}
