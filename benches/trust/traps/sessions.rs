//! Sessions in addresses, second names, and pages that stand beside each page.

use super::{beside, good_page, look, shelves};
use crate::made_up::site::{Ask, HOST, Reply, Site, link, list};
use crate::made_up::text::Random;

/// A session in the path, another at each request.
pub(super) fn path(seed: u64, good: usize) -> Site {
    in_links(seed, good, |session, path| format!("/S({session}){path}"))
}

/// A session in the query, another at each request.
pub(super) fn query(seed: u64, good: usize) -> Site {
    in_links(seed, good, |session, path| {
        format!("{path}?visit={session}")
    })
}

/// The same on a site of 5,000 pages.
pub(super) fn large(seed: u64, good: usize) -> Site {
    in_links(seed, good * 10 - good / 5, |session, path| {
        format!("{path}?visit={session}")
    })
}

fn in_links(seed: u64, count: usize, form: fn(&str, &str) -> String) -> Site {
    let look = look(seed);
    let answer = move |ask: &Ask| {
        let mut path = ask.path;
        if path.starts_with("/S(")
            && let Some((_, rest)) = path.split_once(')')
        {
            path = rest;
        }
        if path == "/robots.txt" {
            return Reply::missing();
        }
        let session = Random::of(seed, &format!("session {}", ask.serial)).hex(20);
        let with = |path: &str| form(&session, path);
        let back = link(&with("/"), "home");
        if path == "/" {
            return shelves(&look, count, None, &with, &back);
        }
        let inner = Ask { path, ..*ask };
        if let Some(shelf) = inner.after("/shelf/").filter(|it| *it < count.div_ceil(50)) {
            return shelves(&look, count, Some(shelf), &with, &back);
        }
        match inner.after("/good/").filter(|it| *it < count) {
            Some(number) => {
                let near = [number.saturating_sub(1), (number + 1).min(count - 1)];
                let links = list(near.map(|it| (with(&format!("/good/{it}")), "near")));
                good_page(&look, seed, number, &(links + &back))
            }
            None => Reply::missing(),
        }
    };
    let mut site =
        Site::new(answer).good((0..count).map(|it| (it.to_string(), format!("/good/{it}"))));
    site.cap = count * 2 + 5_000;
    site
}

/// Two names that show the same pages.
pub(super) fn www(seed: u64, good: usize) -> Site {
    let look = look(seed);
    let count = good * 2 - good / 25;
    let answer = move |ask: &Ask| {
        let own = |path: &str| path.to_owned();
        if ask.path == "/" {
            return shelves(&look, count, None, &own, "");
        }
        if let Some(shelf) = ask.after("/shelf/").filter(|it| *it < count.div_ceil(50)) {
            return shelves(&look, count, Some(shelf), &own, "");
        }
        match ask.after("/good/").filter(|it| *it < count) {
            Some(number) => good_page(&look, seed, number, ""),
            None => Reply::missing(),
        }
    };
    let mut site =
        Site::new(answer).good((0..count).map(|it| (it.to_string(), format!("/good/{it}"))));
    let alias = format!("www.{HOST}");
    site.seeds.push(format!("http://{alias}/"));
    site.hosts.push(alias);
    site.cap = 5_000;
    site
}

/// A form to log in that is told where to return to, at each page.
pub(super) fn login(seed: u64, good: usize) -> Site {
    let look = look(seed);
    let answer = move |ask: &Ask| {
        let own = |path: &str| path.to_owned();
        let way = link(
            &format!("/login?return={}", ask.path.replace('/', "%2F")),
            "log in",
        );
        if ask.path == "/" {
            return shelves(&look, good, None, &own, &way);
        }
        if let Some(shelf) = ask.after("/shelf/").filter(|it| *it < good.div_ceil(50)) {
            return shelves(&look, good, Some(shelf), &own, &way);
        }
        if let Some(number) = ask.after("/good/").filter(|it| *it < good) {
            return good_page(&look, seed, number, &way);
        }
        if ask.path == "/login" {
            let to = ask.get("return").unwrap_or_default();
            let form = format!(
                "<form method=\"post\"><input type=\"hidden\" name=\"return\" value=\"{to}\"><input name=\"user\"><input name=\"password\" type=\"password\"></form><p>Please log in with your name and password to go on.</p>"
            );
            return look.page("Log in", &form);
        }
        Reply::missing()
    };
    let mut site =
        Site::new(answer).good((0..good).map(|it| (it.to_string(), format!("/good/{it}"))));
    site.cap = good * 12;
    site
}

/// A print view and a form to answer beside each page.
pub(super) fn print_reply(seed: u64, good: usize) -> Site {
    beside(seed, good, "/print/0", move |ask, look| {
        if let Some(number) = ask.after("/print/").filter(|it| *it < good) {
            let next = link(&format!("/print/{}", (number + 1) % good), "print the next")
                + &link(&format!("/good/{number}?reply=1"), "answer");
            let mut reply = good_page(look, seed, number, &next);
            reply.body = reply
                .body
                .replace("<main>", "<main class=\"print\">")
                .replace("<nav>", "<nav hidden>");
            return reply;
        }
        match ask.after("/good/").filter(|_| ask.get("reply").is_some()) {
            Some(_) => look.page(
                "Answer",
                "<p>Only members may answer. Please log in or register.</p>",
            ),
            None => Reply::missing(),
        }
    })
}
