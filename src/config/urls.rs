//! `[url]`: which URLs count as the same. Changes to the rules of the canonical form for all hosts,
//! and in entries of `[[url.rule]]` for some; whether the entries make sense.

use serde::{Deserialize, Serialize};

use crate::units::Checked;
use crate::url::{Canonicalizer, HostKey, HostMap, HostPattern, HostRules, Rule, Url};

/// Changes to the canonical form for all hosts: rules, and parameters of the query.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UrlSettings {
    /// Rules applied in addition to those that are on by default.
    pub on: Vec<Rule>,
    /// Rules not applied although they are on by default.
    pub off: Vec<Rule>,
    /// Parameters that are dropped.
    pub drop: Vec<String>,
    /// Parameters that are kept although a rule would drop them.
    pub keep: Vec<String>,
    /// Changes for some hosts.
    pub rule: Vec<UrlRuleSettings>,
}

/// An entry: hosts, and the changes to the canonical form of their URLs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UrlRuleSettings {
    /// The hosts.
    #[serde(rename = "match")]
    pub hosts: Vec<HostPattern>,
    /// Rules applied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub on: Vec<Rule>,
    /// Rules not applied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub off: Vec<Rule>,
    /// Parameters that are dropped.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drop: Vec<String>,
    /// Parameters that are kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<String>,
}

impl UrlSettings {
    /// Switches rules on and off for all hosts. A rule in both lists is off.
    pub fn switch(&mut self, on: &[Rule], off: &[Rule]) {
        self.on.extend(on);
        self.off.retain(|rule| !on.contains(rule));
        self.off.extend(off);
        self.on.retain(|rule| !off.contains(rule));
    }

    /// The canonicalizer with these settings.
    pub fn canonicalizer(&self) -> Canonicalizer {
        let hosts = self.rule.iter().flat_map(|entry| {
            let hosts = entry.hosts.iter().cloned();
            hosts.map(|pattern| (pattern, entry.rules()))
        });
        Canonicalizer::with_hosts(self.rules(), hosts)
    }

    /// The changes for all hosts.
    pub fn rules(&self) -> HostRules {
        HostRules {
            on: self.on.iter().copied().collect(),
            off: self.off.iter().copied().collect(),
            drop: self.drop.iter().cloned().collect(),
            keep: self.keep.iter().cloned().collect(),
        }
    }
}

impl UrlRuleSettings {
    fn rules(&self) -> HostRules {
        let Self {
            hosts: _,
            on,
            off,
            drop,
            keep,
        } = self.clone();
        let own = UrlSettings {
            on,
            off,
            drop,
            keep,
            rule: Vec::new(),
        };
        own.rules()
    }
}

/// Refuses contradictions and parameters that cannot occur: the key, and what it must be.
pub(super) fn check(url: &UrlSettings) -> Checked {
    match url {
        _ if url.on.iter().any(|rule| url.off.contains(rule)) => {
            Err(("url.off", "rules other than those in url.on"))
        }
        _ if url.keep.iter().any(|name| url.drop.contains(name)) => {
            Err(("url.keep", "parameters other than those in url.drop"))
        }
        _ if !url.drop.iter().all(|name| is_parameter(name)) => Err(("url.drop", PARAMETERS)),
        _ if !url.keep.iter().all(|name| is_parameter(name)) => Err(("url.keep", PARAMETERS)),
        _ => Ok(()),
    }
}

const PARAMETERS: &str =
    "whole names of parameters, as they stand between `?` or `&` and `=` in a canonical URL";

/// Whether a parameter can have this name in a canonical URL.
fn is_parameter(name: &str) -> bool {
    let text = format!("http://a.example/?{name}=1");
    let escapes = Canonicalizer::with_rules([Rule::PercentEncoding].into_iter().collect());
    let form = Url::parse(&text).map(|url| escapes.canonicalize(&url));
    !name.is_empty()
        && !name.contains(['&', '=', '#'])
        && form.is_ok_and(|form| form.as_str() == text)
}

/// Refuses entries that make no sense: which one, counted from 0, and why.
pub(super) fn check_entries(settings: &UrlSettings) -> Result<(), (usize, String)> {
    let mut all = HostMap::default();
    for (at, entry) in settings.rule.iter().enumerate() {
        let refuse = |reason: String| Err((at, reason));
        if entry.hosts.is_empty() {
            return refuse("it names no host: give match = [\"example.org\"]".to_owned());
        }
        if entry.rules() == HostRules::default() {
            return refuse("it changes nothing; give one of on, off, drop and keep".to_owned());
        }
        if let Some(rule) = entry.on.iter().find(|rule| entry.off.contains(rule)) {
            return refuse(format!("the rule `{rule}` is both on and off"));
        }
        if let Some(name) = entry.drop.iter().find(|name| entry.keep.contains(name)) {
            return refuse(format!(
                "the parameter {name:?} is to be both dropped and kept"
            ));
        }
        let mut names = entry.drop.iter().chain(&entry.keep);
        if let Some(name) = names.find(|name| !is_parameter(name)) {
            return refuse(format!("{name:?} is no parameter; give {PARAMETERS}"));
        }
        for pattern in &entry.hosts {
            if matches!(pattern.port(), Some(0 | 80 | 443)) {
                return refuse(format!(
                    "{pattern}: what a rule makes one must not depend on the scheme; name no port, or one other than 80 and 443"
                ));
            }
            if let Some(other) = all.insert(pattern, at) {
                let other = other + 1;
                return refuse(format!(
                    "{pattern} is in [[url.rule]] {other} too; name it once"
                ));
            }
        }
    }
    check_www(settings)
}

/// Refuses entries for `www.` hosts that the rule `www` makes one with the host without it: the
/// rules of that host apply.
fn check_www(settings: &UrlSettings) -> Result<(), (usize, String)> {
    let canonicalizer = settings.canonicalizer();
    let www = Canonicalizer::with_rules([Rule::Www].into_iter().collect());
    for (at, entry) in settings.rule.iter().enumerate() {
        for pattern in entry.hosts.iter().filter(|it| !it.is_only_below()) {
            let Ok(url) = Url::parse(&format!("http://{pattern}/")) else {
                continue;
            };
            let host_of = |canonicalizer: &Canonicalizer| {
                let form = canonicalizer.canonicalize(&url);
                let host = Url::parse(form.as_str()).map(|url| HostKey::of(&url).name().to_owned());
                host.unwrap_or_default()
            };
            let bare = host_of(&www);
            let is_folded = host_of(&canonicalizer) == bare || entry.on.contains(&Rule::Www);
            if bare != pattern.name() && is_folded {
                let reason = format!("the rule `www` makes {pattern} one with {bare}; name that");
                return Err((at, reason));
            }
        }
    }
    Ok(())
}

/// The entries that apply to a host.
pub(super) fn at_host(settings: &UrlSettings, host: &HostKey) -> Vec<UrlRuleSettings> {
    let canonicalizer = settings.canonicalizer();
    let form = canonicalizer.canonicalize(&host.url()).to_string();
    let folded = Url::parse(&form).map(|url| HostKey::of(&url));
    let mut all = HostMap::default();
    for entry in &settings.rule {
        for pattern in &entry.hosts {
            let entry = UrlRuleSettings {
                hosts: vec![pattern.clone()],
                ..entry.clone()
            };
            all.insert(pattern, entry);
        }
    }
    let folded = folded.as_ref().unwrap_or(host);
    all.matching(folded).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    fn read(text: &str) -> UrlSettings {
        toml::from_str::<Config>(text).unwrap().url
    }

    #[test]
    fn settings_reach_the_canonical_form() {
        let settings = read(
            "[url]\non = [\"index-file\"]\ndrop = [\"from\"]\n\
             [[url.rule]]\nmatch = [\"a.example\", \"b.example:81\"]\noff = [\"trailing-slash\"]\nkeep = [\"from\"]\n",
        );
        let form = |text: &str| {
            let url = Url::parse(text).unwrap();
            settings.canonicalizer().canonicalize(&url).to_string()
        };
        assert_eq!(
            form("http://c.example/d/index.html?from=1"),
            "http://c.example/d"
        );
        assert_eq!(
            form("http://a.example/d/index.html?from=1"),
            "http://a.example/d/?from=1"
        );
        assert_eq!(form("http://b.example/d/"), "http://b.example/d");
        assert_eq!(form("http://b.example:81/d/"), "http://b.example:81/d/");
    }

    #[track_caller]
    fn check_refused(text: &str, expected: &str) {
        let settings = read(text);
        let reason = match (check(&settings), check_entries(&settings)) {
            (Err((key, expected)), _) => format!("{key}: {expected}"),
            (_, Err((at, reason))) => format!("{at}: {reason}"),
            (Ok(()), Ok(())) => String::new(),
        };
        assert!(reason.contains(expected), "{reason:?}");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        check_refused(
            "[url]\non = [\"www\"]\noff = [\"www\"]",
            "url.off: rules other",
        );
        check_refused("[url]\ndrop = [\"x\"]\nkeep = [\"x\"]", "url.keep: param");
        for name in ["", "a=b", "a&b", "ü", "a b", "a%2Db", "a#"] {
            check_refused(&format!("[url]\ndrop = [{name:?}]"), "url.drop: whole");
        }
        let entry = |hosts: &str, text: &str| format!("[[url.rule]]\nmatch = {hosts}\n{text}\n");
        check_refused(&entry("[]", "drop = [\"x\"]"), "0: it names no host");
        check_refused(&entry("[\"a.example\"]", ""), "it changes nothing");
        check_refused(
            &entry("[\"a.example\"]", "on = [\"www\"]\noff = [\"www\"]"),
            "both on and off",
        );
        check_refused(
            &entry("[\"a.example\"]", "drop = [\"x\"]\nkeep = [\"x\"]"),
            "both dropped and kept",
        );
        check_refused(
            &entry("[\"a.example:443\"]", "drop = [\"x\"]"),
            "other than 80 and 443",
        );
        let one = entry("[\"a.example\"]", "drop = [\"x\"]");
        check_refused(&(one.clone() + &one), "1: a.example is in [[url.rule]] 1");
        let www = entry("[\"www.a.example:81\"]", "drop = [\"x\"]");
        let reason = "makes www.a.example:81 one with a.example; name that";
        check_refused(&("[url]\non = [\"www\"]\n".to_owned() + &www), reason);
        let bare = entry("[\"a.example\"]", "on = [\"www\"]");
        check_refused(&(www.clone() + &bare), reason);
        check_refused(&www, "");
        let alone = entry("[\"www.a.example\"]", "on = [\"www\"]");
        check_refused(&alone, "makes www.a.example one");
        assert_eq!(check_entries(&read(&www)), Ok(()));
    }

    #[test]
    fn a_host_is_shown_the_entries_that_hold_there() {
        let settings = read(
            "[[url.rule]]\nmatch = [\"a.example\", \"c.example\"]\non = [\"www\"]\n\
             [[url.rule]]\nmatch = [\"*.a.example\"]\ndrop = [\"x\"]\n",
        );
        let check = |host: &str, expected: &[&str]| {
            let found = at_host(&settings, &HostKey::parse(host).unwrap());
            let found: Vec<String> = found.iter().map(|it| it.hosts[0].to_string()).collect();
            assert_eq!(found, expected, "{host}");
        };
        check("http://www.a.example", &["a.example"]);
        check("http://b.a.example", &["a.example", "*.a.example"]);
        check("https://d.example", &[]);
    }
}
