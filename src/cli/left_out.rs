//! What a crawl left out, in words: the last part of summaries, of `status` and of `report`.

use std::fmt::Write as _;

use super::words::count;
use crate::engine::{LostSeeds, Omission, OmissionGroup, OmissionUnit, Omissions, ScriptShells};
use crate::inspect::NotFetched;

/// Maximum number of lines per group; JSON has all.
const MAX_LINES: usize = 6;
/// Maximum length of an example in characters; JSON has all of it.
const MAX_EXAMPLE: usize = 100;

/// Maximum number of hosts that are named in a line.
const MAX_HOSTS: usize = 3;

/// The groups, in order, and what stands above each.
const GROUPS: [(OmissionGroup, &str); 5] = [
    (OmissionGroup::NotFetched, "not fetched"),
    (OmissionGroup::NotFollowed, "links not followed"),
    (OmissionGroup::NotKept, "fetched, not kept"),
    (OmissionGroup::WithoutText, "kept, without a text"),
    (
        OmissionGroup::Requisites,
        "files that pages need, not fetched",
    ),
];

/// Returns the lines about what was left out; none if nothing was.
pub(super) fn in_words(omissions: &Omissions) -> String {
    let mut text = String::new();
    for (group, title) in GROUPS {
        let lines = omissions.left_out.iter().filter(|it| it.group == group);
        let lines: Vec<&Omission> = lines.collect();
        if lines.is_empty() {
            continue;
        }
        let _ = writeln!(text, "{title}");
        // One line more takes no more room than saying that there is one.
        let shown = match lines.len() {
            0..=MAX_LINES => lines.len(),
            _ => MAX_LINES - 1,
        };
        for it in lines.iter().take(shown) {
            let _ = writeln!(text, "{}", line(it).trim_end());
        }
        let rest = lines.len() - shown;
        if rest > 0 {
            let count: u64 = lines.iter().skip(shown).map(|it| it.count).sum();
            let _ = writeln!(text, "{count:>10}  for {rest} more reasons (see --json)");
        }
    }
    text.push_str(&need_scripts(&omissions.script_shells));
    text.push_str(&lost(&omissions.lost));
    text
}

/// Returns a line for each group of what was not fetched.
pub(super) fn groups(not_fetched: &NotFetched) -> String {
    let mut text = String::new();
    for it in &not_fetched.groups {
        let parts = [
            it.detail.as_deref(),
            it.host.as_deref(),
            it.pattern.as_deref(),
        ];
        let parts: Vec<&str> = parts
            .into_iter()
            .flatten()
            .filter(|it| !it.is_empty())
            .collect();
        let what = [&[&*it.reason][..], &parts].concat().join("  ");
        let example = it.examples.first().map(|url| cut(url)).unwrap_or_default();
        let command = it.command.as_ref().map(|it| format!("  ({it})"));
        let line = format!(
            "{:>10}  {what:<44}  {example}{}",
            it.count,
            command.unwrap_or_default()
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    let rest = not_fetched
        .of
        .saturating_sub(not_fetched.groups.len() as u64);
    if rest > 0 {
        let _ = writeln!(text, "and {}", count(rest, "smaller group"));
    }
    if text.is_empty() {
        text.push_str("nothing was left out\n");
    }
    text
}

fn line(of: &Omission) -> String {
    let unit = match of.unit {
        OmissionUnit::Urls => "URL",
        OmissionUnit::Links => "link",
        OmissionUnit::Pages => "page",
        OmissionUnit::Requisites => "file",
    };
    let (more, many) = match (of.at_least, of.count) {
        (true, _) => ("or more ", "s"),
        (false, 1) => ("", ""),
        (false, _) => ("", "s"),
    };
    let what = format!("{more}{unit}{many}: {}", label(of));
    let example = of.example.as_deref().map(cut).unwrap_or_default();
    let command = of.command.as_ref().map(|it| format!("  ({it})"));
    format!(
        "{:>10}  {what:<44}  {example}{}",
        of.count,
        command.unwrap_or_default()
    )
}

/// Returns a URL that is short enough for a line, from its beginning.
fn cut(url: &str) -> String {
    match url.char_indices().nth(MAX_EXAMPLE) {
        Some((end, _)) => format!("{}…", url.get(..end).unwrap_or_default()),
        None => url.to_owned(),
    }
}

/// Returns the reason in words.
fn label(of: &Omission) -> String {
    let detail = of.detail.as_deref();
    let words = match (&*of.reason, detail) {
        ("robots", _) => "forbidden by robots.txt",
        ("guard", _) => "private address (fetch.allow_private)",
        ("budget", Some(setting)) => return format!("budget {setting} used up"),
        ("budget", None) => "a budget of [traps] used up",
        ("failed", Some("blocked")) => "blocked (crawl.block_lists)",
        ("failed", Some("logs-out")) => "would log out (fetch.cookie_files)",
        ("failed", Some("session")) => "the login was lost (fetch.cookie_files)",
        ("failed", Some("dropped")) => "dropped (gleaner queue drop)",
        ("failed", Some(class)) => return format!("failed, {class}"),
        ("held", _) => "waiting, host held (gleaner pause --host)",
        ("parked", Some(trouble)) => return format!("waiting, host parked: {trouble}"),
        ("queued", Some(limit)) => return format!("still queued, {limit}"),
        ("queued", None) => "still queued",
        ("out-of-scope", _) if of.group == OmissionGroup::Requisites => {
            "elsewhere (crawl.requisites)"
        }
        ("out-of-scope", _) => "out of scope (crawl.scope)",
        ("too-deep", _) => "too deep (crawl.max_depth)",
        ("excluded", _) => "excluded (crawl.exclude)",
        ("not-included", _) => "not included (crawl.include)",
        ("malformed", _) => "too long (crawl.max_url_length), or no URL",
        ("too-many-redirects", _) => "too many redirects (crawl.max_redirects)",
        ("nofollow", _) => "nofollow, by page or link",
        ("other-language", _) => "on pages in other languages (crawl.languages)",
        ("links-cut", _) => "more links than are read (page.max_links)",
        ("too-many-sitemaps", _) => "too many sitemaps (crawl.max_sitemaps)",
        ("too-many-sitemap-hosts", _) => "sitemaps on too many other hosts",
        ("too-many-indexes", _) => "too many sitemap indexes in a row",
        ("too-many-requisites", _) => "too many for a page (crawl.max_requisites)",
        ("deferred", Some(kind)) => return format!("deferred, like {kind}"),
        ("deferred", None) => "deferred, of other kinds",
        ("status", Some("denied")) => "access denied (401, 403, 407, 451)",
        ("status", Some("overloaded")) => "server overloaded (429, 503)",
        ("status", Some(_)) => "server error (5xx)",
        ("challenge", _) => "a bot check in place of the page",
        ("denied", _) => "an access-denied page",
        ("consent", _) => "a consent page",
        ("repeated", _) => "one short text under many URLs",
        ("script-shell", _) => "needs JavaScript",
        ("kind", _) => "not HTML or text (archive.other_types)",
        ("no-converter", _) => "documents, no converter ([[convert]])",
        ("converter-failed", _) => "documents whose converter failed",
        ("duplicate", _) => "duplicate, body not stored",
        (other, _) => other,
    };
    words.to_owned()
}

fn need_scripts(shells: &ScriptShells) -> String {
    let (hosts, pages) = (shells.hosts, shells.pages);
    if hosts == 0 {
        return String::new();
    }
    let named = shells.named.iter();
    let named: Vec<&str> = named.take(MAX_HOSTS).map(|it| &*it.host).collect();
    let more = if hosts > named.len() as u64 {
        ", ..."
    } else {
        ""
    };
    let named = named.join(", ");
    match hosts {
        1 => format!(
            "{named} sends pages that need JavaScript: {}\n",
            count(pages, "page")
        ),
        _ => format!(
            "{hosts} hosts send pages that need JavaScript: {named}{more} ({})\n",
            count(pages, "page")
        ),
    }
}

fn lost(seeds: &LostSeeds) -> String {
    let mut text = String::new();
    if seeds.lost == 0 {
        return text;
    }
    let _ = writeln!(
        text,
        "lost: {} of {} gave nothing",
        seeds.lost,
        count(seeds.seeds, "seed")
    );
    for seed in &seeds.named {
        let _ = writeln!(text, "  {}  {}", cut(&seed.url), seed.reason);
    }
    let rest = seeds.lost.saturating_sub(seeds.named.len() as u64);
    if rest > 0 {
        let _ = writeln!(text, "  and {rest} more");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{LostSeed, ShellHost};

    fn omission(group: OmissionGroup, reason: &str, detail: Option<&str>, count: u64) -> Omission {
        Omission {
            group,
            reason: reason.to_owned(),
            detail: detail.map(str::to_owned),
            count,
            unit: match group {
                OmissionGroup::Requisites => OmissionUnit::Requisites,
                OmissionGroup::NotFetched => OmissionUnit::Urls,
                OmissionGroup::NotFollowed => OmissionUnit::Links,
                OmissionGroup::NotKept | OmissionGroup::WithoutText => OmissionUnit::Pages,
            },
            at_least: false,
            example: Some("http://a.example/x".to_owned()),
            command: Some("gleaner why URL".to_owned()),
        }
    }

    #[test]
    fn a_crawl_that_left_out_nothing_says_nothing() {
        let mut omissions = Omissions::default();
        omissions.lost.seeds = 3;
        assert_eq!(in_words(&omissions), "");
    }

    #[test]
    fn each_group_has_a_few_lines() {
        use OmissionGroup::{NotFetched, NotFollowed, NotKept};
        let mut omissions = Omissions {
            left_out: vec![
                omission(NotFetched, "robots", None, 812),
                omission(NotFetched, "failed", Some("timeout"), 9),
            ],
            ..Omissions::default()
        };
        let many = [
            "out-of-scope",
            "too-deep",
            "nofollow",
            "excluded",
            "malformed",
            "growing-query",
            "nofollow",
        ];
        let links = many.iter().map(|name| omission(NotFollowed, name, None, 5));
        omissions.left_out.extend(links);
        omissions
            .left_out
            .push(omission(NotKept, "challenge", None, 1));
        omissions.lost = LostSeeds {
            seeds: 40,
            lost: 2,
            named: vec![LostSeed {
                url: "http://b.example/".to_owned(),
                reason: "dns: no such name".to_owned(),
            }],
        };
        let words = in_words(&omissions);
        let lines: Vec<&str> = words.lines().collect();
        assert_eq!(lines.len(), 15, "{words}");
        assert_eq!(
            lines[1],
            "       812  URLs: forbidden by robots.txt                 http://a.example/x  (gleaner why URL)"
        );
        assert_eq!(
            lines[2].split_once(" http").unwrap().0.trim(),
            "9  URLs: failed, timeout"
        );
        assert_eq!(lines[9], "        10  for 2 more reasons (see --json)");
        assert_eq!(
            lines[12..],
            [
                "lost: 2 of 40 seeds gave nothing",
                "  http://b.example/  dns: no such name",
                "  and 1 more"
            ]
        );
    }

    #[test]
    fn hosts_that_need_javascript_are_named() {
        let shells = |count: u64| ScriptShells {
            hosts: count,
            pages: 2 * count,
            named: (0..count)
                .map(|host| ShellHost {
                    host: format!("http://{host}.example"),
                    pages: 2,
                })
                .collect(),
        };
        assert_eq!(need_scripts(&shells(0)), "");
        assert_eq!(
            need_scripts(&shells(1)),
            "http://0.example sends pages that need JavaScript: 2 pages\n"
        );
        assert_eq!(
            need_scripts(&shells(4)),
            "4 hosts send pages that need JavaScript: http://0.example, http://1.example, \
             http://2.example, ... (8 pages)\n"
        );
    }

    #[test]
    fn a_long_example_is_cut() {
        let mut one = omission(OmissionGroup::NotFetched, "guard", None, 1);
        one.example = Some(format!("http://a.example/{}", "ä".repeat(200)));
        assert!(line(&one).chars().count() < 200);
    }
}
