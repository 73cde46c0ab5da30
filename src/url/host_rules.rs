//! Decides which rules of the canonical form apply at which host.
//!
//! Two spellings of a URL that are to become one must meet the same rules. A host is therefore
//! looked up by its name without the trailing dot, without `www.` if the rule `www` is on for the
//! shorter name, and regardless of the scheme; a port counts only if the URL names one.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;

use ::url::{Position, Url};

use super::host_name::{without_trailing_dot, without_www};
use super::rules::{FORM, Rule, RuleSet};
use super::{HostKey, HostMap, HostPattern};

/// Changes to the rules of the canonical form, for all hosts or for some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRules {
    /// Rules that are switched on.
    pub on: RuleSet,
    /// Rules that are switched off; `on` takes precedence.
    pub off: RuleSet,
    /// Parameters that are dropped, by their full names as they appear in a canonical form.
    pub drop: BTreeSet<String>,
    /// Parameters that are kept even if they look like tracking or a session; takes precedence over
    /// `drop`.
    pub keep: BTreeSet<String>,
}

impl Default for HostRules {
    /// Returns a value that changes nothing.
    fn default() -> Self {
        Self {
            on: RuleSet::EMPTY,
            off: RuleSet::EMPTY,
            drop: BTreeSet::new(),
            keep: BTreeSet::new(),
        }
    }
}

impl HostRules {
    fn names_parameters(&self) -> bool {
        !(self.drop.is_empty() && self.keep.is_empty())
    }

    /// Appends a description to `line`, for people to read.
    fn describe(&self, line: &mut String) {
        let rules = |set: RuleSet| set.iter().map(|rule| rule.to_string()).collect();
        let names = |set: &BTreeSet<String>| set.iter().cloned().collect();
        let lists: [(&str, Vec<String>); 4] = [
            ("on", rules(self.on)),
            ("off", rules(self.off)),
            ("drop", names(&self.drop)),
            ("keep", names(&self.keep)),
        ];
        for (what, list) in lists {
            if !list.is_empty() {
                let _ = write!(line, " {what} {list:?}");
            }
        }
    }
}

/// What the settings say about a query parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parameter {
    Drop,
    Keep,
}

/// The rules that apply at one host.
#[derive(Debug)]
pub(super) struct RulesAt<'a> {
    pub(super) set: RuleSet,
    /// The entries that name parameters, the most specific last.
    parameters: Vec<&'a HostRules>,
}

impl<'a> RulesAt<'a> {
    /// Returns what the most specific entry that names the parameter says about it.
    pub(super) fn says(&self, name: &str) -> Option<Parameter> {
        let mut layers = self.parameters.iter().rev();
        layers.find_map(|rules| {
            if rules.keep.contains(name) {
                Some(Parameter::Keep)
            } else if rules.drop.contains(name) {
                Some(Parameter::Drop)
            } else {
                None
            }
        })
    }

    fn add(&mut self, rules: &'a HostRules) {
        self.set = self.set.changed(rules.on, rules.off);
        if rules.names_parameters() {
            self.parameters.push(rules);
        }
    }
}

/// The rules of all hosts. Cloning costs two reference counts; what a clone learns is its own.
#[derive(Debug, Clone)]
pub(super) struct HostTable {
    given: Arc<Given>,
    /// Learned rules, by host name, plus the port if it is not the scheme's default.
    learned: Arc<HashMap<String, HostRules>>,
}

/// The part of the table that never changes.
#[derive(Debug)]
struct Given {
    base: RuleSet,
    everywhere: HostRules,
    hosts: HostMap<HostRules>,
    description: String,
}

impl HostTable {
    pub(super) fn new(
        base: RuleSet,
        everywhere: HostRules,
        hosts: impl IntoIterator<Item = (HostPattern, HostRules)>,
    ) -> Self {
        let mut hosts: Vec<(HostPattern, HostRules)> = hosts.into_iter().collect();
        hosts.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut description = format!("form {FORM}");
        for rule in base.changed(everywhere.on, everywhere.off).iter() {
            let _ = write!(description, "\nrule {rule}");
        }
        for (what, names) in [("drop", &everywhere.drop), ("keep", &everywhere.keep)] {
            for name in names {
                let _ = write!(description, "\n{what} {name:?}");
            }
        }
        let mut map = HostMap::default();
        for (pattern, rules) in hosts {
            let _ = write!(description, "\nat {pattern}");
            rules.describe(&mut description);
            map.insert(&pattern, rules);
        }
        Self {
            given: Arc::new(Given {
                base,
                everywhere,
                hosts: map,
                description,
            }),
            learned: Arc::default(),
        }
    }

    pub(super) fn description(&self) -> &str {
        &self.given.description
    }

    /// Returns the rules at the host of an http or https URL.
    pub(super) fn at(&self, url: &Url) -> RulesAt<'_> {
        if self.given.hosts.is_empty() && self.learned.is_empty() {
            return self.of_name("", "", None);
        }
        let host = &url[Position::BeforeHost..Position::AfterHost];
        let name = without_trailing_dot(host);
        let authority = if name.len() == host.len() {
            Cow::Borrowed(&url[Position::BeforeHost..Position::AfterPort])
        } else {
            Cow::Owned([name, &url[Position::AfterHost..Position::AfterPort]].concat())
        };
        let port = url.port();
        let bare = without_www(name);
        if bare.len() == name.len() {
            return self.of_name(name, &authority, port);
        }
        let rules = self.of_name(bare, &authority[name.len() - bare.len()..], port);
        if rules.set.has(Rule::Www) {
            return rules;
        }
        let mut rules = self.of_name(name, &authority, port);
        // A host whose name without `www.` does not fold `www.` is a separate host.
        rules.set = rules.set.without(Rule::Www);
        rules
    }

    /// Returns the rules of a name. `authority` is the name, plus the port if the URL names one.
    fn of_name(&self, name: &str, authority: &str, port: Option<u16>) -> RulesAt<'_> {
        let given = &*self.given;
        let mut rules = RulesAt {
            set: given.base,
            parameters: Vec::new(),
        };
        if let Some(learned) = (!self.learned.is_empty())
            .then(|| self.learned.get(authority))
            .flatten()
        {
            rules.add(learned);
        }
        rules.add(&given.everywhere);
        // The scheme's default port counts as no port; nobody uses port 0.
        for own in given.hosts.matching_name(name, port.unwrap_or_default()) {
            rules.add(own);
        }
        rules
    }

    pub(super) fn learn(&mut self, host: &HostKey, mut rules: HostRules) {
        for of_several_hosts in [Rule::Www, Rule::Scheme] {
            rules.on = rules.on.without(of_several_hosts);
            rules.off = rules.off.without(of_several_hosts);
        }
        let key = self.key(host);
        Arc::make_mut(&mut self.learned).insert(key, rules);
    }

    pub(super) fn forget(&mut self, host: &HostKey) {
        let key = self.key(host);
        Arc::make_mut(&mut self.learned).remove(&key);
    }

    pub(super) fn learned(&self, host: &HostKey) -> Option<&HostRules> {
        self.learned.get(&self.key(host))
    }

    fn key(&self, host: &HostKey) -> String {
        let text = host.as_str();
        let authority = text.split_once("://").map_or(text, |(_, rest)| rest);
        let (name, bare) = (host.name(), without_www(host.name()));
        let port = (authority.len() > name.len()).then(|| host.port());
        let without = &authority[name.len() - bare.len()..];
        if self.of_name(bare, without, port).set.has(Rule::Www) {
            without.to_owned()
        } else {
            authority.to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Canonicalizer, parse};
    use super::*;

    fn rules(on: &[Rule], off: &[Rule], drop: &[&str], keep: &[&str]) -> HostRules {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        HostRules {
            on: on.iter().copied().collect(),
            off: off.iter().copied().collect(),
            drop: names(drop),
            keep: names(keep),
        }
    }

    fn at(pattern: &str, rules: HostRules) -> (HostPattern, HostRules) {
        (pattern.parse().unwrap(), rules)
    }

    #[track_caller]
    fn check(canonicalizer: &Canonicalizer, expected: &str, urls: &[&str]) {
        for url in urls.iter().chain([&expected]) {
            let form = canonicalizer.canonicalize(&parse(url).unwrap());
            assert_eq!(form.as_str(), expected, "{url}");
        }
    }

    #[test]
    fn what_is_said_most_specifically_holds_rule_by_rule() {
        let canonicalizer = Canonicalizer::with_hosts(
            rules(&[Rule::IndexFile], &[], &["from"], &["gclid"]),
            [
                at(
                    "example.org",
                    rules(&[Rule::PathCase], &[Rule::TrailingSlash], &["ref"], &[]),
                ),
                at(
                    "shop.example.org",
                    rules(&[], &[Rule::PathCase], &["gclid", "ID"], &["ref", "from"]),
                ),
                at("example.org:8080", rules(&[], &[Rule::IndexFile], &[], &[])),
            ],
        );
        check(
            &canonicalizer,
            "http://a.example/D?gclid=1&ref=2",
            &["http://a.example/D/index.html?ref=2&from=x&gclid=1"],
        );
        check(
            &canonicalizer,
            "http://www.example.org/d/?gclid=1",
            &["http://www.example.org/D/index.php?ref=2&from=x&gclid=1"],
        );
        check(
            &canonicalizer,
            "http://shop.example.org/D/?from=x&id=4&ref=2",
            &["http://shop.example.org./D/?ref=2&from=x&gclid=1&ID=3&id=4"],
        );
        check(
            &canonicalizer,
            "http://example.org:8080/d/index.html",
            &["http://example.org:8080/D/index.html?ref=1"],
        );
    }

    #[test]
    fn names_of_parameters_are_whole_and_as_the_form_has_them() {
        let rules = rules(&[], &[], &["a[b]", "r-ef"], &["utm_id", "PHPSESSID"]);
        let canonicalizer = Canonicalizer::with_hosts(rules, []);
        check(
            &canonicalizer,
            "http://a.example/?PHPSESSID=1&ref=1&utm_id=3&xr-ef",
            &["http://a.example/?r%2Def=5&ref=1&xr-ef&utm_id=3&a[b]=7&PHPSESSID=1&utm_idx=1"],
        );
    }

    #[test]
    fn hosts_that_become_one_have_one_set_of_rules() {
        let folding = |pattern| at(pattern, rules(&[Rule::Www], &[], &["x"], &[]));
        let own = |pattern| at(pattern, rules(&[Rule::PathCase], &[], &[], &[]));
        let canonicalizer = Canonicalizer::with_hosts(
            HostRules::default(),
            [
                folding("a.example"),
                own("www.a.example"),
                own("www.b.example"),
                // A host by itself folds nothing: it would meet the rules of another host.
                folding("www.c.example"),
            ],
        );
        check(
            &canonicalizer,
            "http://a.example/P",
            &["http://www.a.example/P?x=1", "http://WWW2.a.example./P"],
        );
        check(
            &canonicalizer,
            "http://www.b.example/p",
            &["http://www.b.example/P"],
        );
        check(&canonicalizer, "http://b.example/P", &[]);
        check(
            &canonicalizer,
            "http://www.c.example/",
            &["http://www.c.example/?x=1"],
        );
        let canonicalizer = Canonicalizer::with_hosts(
            rules(&[Rule::Scheme], &[], &[], &[]),
            [at("a.example", rules(&[], &[], &["x"], &[]))],
        );
        check(
            &canonicalizer,
            "https://a.example/",
            &["http://a.example/?x=1", "https://a.example:443/?x=1"],
        );
    }

    #[test]
    fn what_was_learned_holds_at_one_host_until_it_is_forgotten() {
        let mut canonicalizer = Canonicalizer::with_hosts(
            rules(&[], &[Rule::PathCase], &[], &["keep"]),
            [at("folded.example", rules(&[Rule::Www], &[], &[], &[]))],
        );
        let before = canonicalizer.description().to_owned();
        let learned = rules(
            &[Rule::PathCase, Rule::IndexFile, Rule::Www],
            &[],
            &["sort", "keep"],
            &[],
        );
        let host = HostKey::parse("http://a.example").unwrap();
        canonicalizer.learn(&host, learned.clone());
        check(
            &canonicalizer,
            "http://a.example/D?keep=1",
            &["http://a.example/D/index.html?sort=2&keep=1"],
        );
        for other in ["http://b.a.example/?sort=1", "http://a.example:81/?sort=1"] {
            check(&canonicalizer, other, &[]);
        }
        assert_eq!(canonicalizer.description(), before);
        let of_the_copy = canonicalizer.clone();
        canonicalizer.forget(&host);
        assert_eq!(canonicalizer.learned(&host), None);
        check(&canonicalizer, "http://a.example/?sort=1", &[]);
        check(
            &of_the_copy,
            "http://a.example/",
            &["http://a.example/?sort=1"],
        );

        let www = HostKey::parse("https://www.folded.example:81").unwrap();
        canonicalizer.learn(&www, learned);
        check(
            &canonicalizer,
            "https://folded.example:81/",
            &[
                "https://www.folded.example:81/?sort=1",
                "https://folded.example.:81/?sort=1",
            ],
        );
        assert!(canonicalizer.learned(&www).is_some());
    }

    #[test]
    fn the_description_tells_settings_apart_and_nothing_else() {
        let describe = |hosts: &[(&str, &[&str])]| {
            let hosts = hosts
                .iter()
                .map(|(pattern, drop)| at(pattern, rules(&[], &[], drop, &[])));
            let canonicalizer = Canonicalizer::with_hosts(HostRules::default(), hosts);
            canonicalizer.description().to_owned()
        };
        let one = describe(&[("a.example", &["x", "y"]), ("b.example", &["z"])]);
        let same = describe(&[("b.example", &["z"]), ("a.example", &["y", "x"])]);
        assert_eq!(one, same);
        for other in [
            describe(&[]),
            describe(&[("a.example", &["x", "y"])]),
            describe(&[("a.example", &["x\", \"y"]), ("b.example", &["z"])]),
        ] {
            assert_ne!(one, other);
        }
        assert!(one.contains("\nat a.example drop [\"x\", \"y\"]"), "{one}");
        // An entry that repeats what is in force changes nothing.
        let as_it_is = rules(&[Rule::Tracking], &[Rule::Www], &[], &[]);
        assert_eq!(
            Canonicalizer::with_hosts(as_it_is, []).description(),
            Canonicalizer::default().description()
        );
        let folding = Canonicalizer::with_hosts(rules(&[Rule::Www], &[], &["x"], &[]), []);
        assert!(folding.description().contains("\nrule www\n"));
        assert!(folding.description().ends_with("\ndrop \"x\""));
    }

    fn any_rules() -> impl Strategy<Value = HostRules> {
        let set = || {
            let rules: Vec<Rule> = Rule::all().iter().map(|line| line.rule).collect();
            proptest::collection::vec(proptest::sample::select(rules), 0..4)
                .prop_map(|rules| rules.into_iter().collect::<RuleSet>())
        };
        let names = || {
            proptest::collection::btree_set(
                proptest::sample::select(vec!["a", "b", "utm_a", "sid"]).prop_map(str::to_owned),
                0..3,
            )
        };
        (set(), set(), names(), names()).prop_map(|(on, off, drop, keep)| HostRules {
            on,
            off,
            drop,
            keep,
        })
    }

    proptest! {
        /// Whatever rules are in force at which hosts, a canonical form is its own canonical form.
        #[test]
        fn canonical_forms_are_their_own(
            everywhere in any_rules(),
            hosts in proptest::collection::btree_map(
                proptest::sample::select(vec![
                    "example", "a.example", "*.a.example", "www.a.example", "b.a.example:81", "*.example",
                ]),
                any_rules(),
                0..5,
            ),
            learned in any_rules(),
            url in "https?://(www2?\\.){0,2}(b\\.)?a\\.example\\.?(:81)?/(A/|index\\.html){0,2}(\\?((a|b|utm_a|sid|c)(=1)?&){0,4})?",
        ) {
            let hosts = hosts.into_iter().map(|(pattern, rules)| at(pattern, rules));
            let mut canonicalizer = Canonicalizer::with_hosts(everywhere, hosts);
            let url = parse(&url).unwrap();
            let once = canonicalizer.canonicalize(&url);
            let again = parse(once.as_str()).unwrap();
            prop_assert_eq!(&canonicalizer.canonicalize(&again), &once);
            canonicalizer.learn(&HostKey::of(&url), learned);
            let once = canonicalizer.canonicalize(&url);
            let again = parse(once.as_str()).unwrap();
            prop_assert_eq!(&canonicalizer.canonicalize(&again), &once);
        }
    }
}
