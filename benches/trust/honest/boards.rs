//! Boards and books, whose pages are numbered in the query.

use std::fmt::Write as _;

use crate::made_up::site::{Ask, Look, Reply, Site, link, list, scaled};
use crate::made_up::text::Random;

/// `/forum?page=N`, and threads that link themselves with `?page=1`.
pub(crate) fn board(seed: u64, scale: f64) -> Site {
    let threads = scaled(3_000, scale);
    let lists = threads.div_ceil(25);
    let pages = move |thread: usize| match Random::of(seed, &format!("thread {thread}")).below(12) {
        0 => 2 + thread % 3,
        _ => 1,
    };
    let look = Look::new(
        seed,
        "The Board",
        &[("/forum", "Forum"), ("/about", "About")],
        120,
    );
    let mut good = vec![("about".to_owned(), "/about".to_owned())];
    for number in 1..=lists {
        good.push((format!("list {number}"), format!("/forum?page={number}")));
    }
    for thread in 0..threads {
        for page in 1..=pages(thread) {
            good.push((
                format!("{thread}/{page}"),
                format!("/showthread/{thread}?page={page}"),
            ));
        }
    }
    let answer = move |ask: &Ask| {
        let page = ask.number("page").unwrap_or(1);
        if ask.path == "/" || ask.path == "/about" {
            let key = ask.path.trim_start_matches('/').to_owned();
            let text = Random::of(seed, ask.path).paragraphs(120);
            return look
                .page(
                    "About us",
                    &format!("{text}{}", link("/forum", "all threads")),
                )
                .good(key);
        }
        if ask.path == "/forum" && (1..=lists).contains(&page) {
            let shown = (page - 1) * 25..(page * 25).min(threads);
            let mut html = list(shown.map(|it| {
                let title = Random::of(seed, &format!("title {it}")).phrase(6);
                (format!("/showthread/{it}"), title)
            }));
            if page < lists {
                html += &link(&format!("/forum?page={}", page + 1), "older threads");
            }
            return look.page("Forum", &html).good(format!("list {page}"));
        }
        let Some(thread) = ask.after("/showthread/").filter(|it| *it < threads) else {
            return Reply::missing();
        };
        if page == 0 || page > pages(thread) {
            return Reply::missing();
        }
        let title = Random::of(seed, &format!("title {thread}")).phrase(6);
        let mut random = Random::of(seed, &format!("{thread}/{page}"));
        let mut html = String::new();
        for _ in 0..random.between(2, 6) {
            let words = random.between(10, 60);
            let _ = write!(
                html,
                "<div class=\"post\"><b>{}</b><p>{}</p></div>",
                random.word(),
                random.prose(words)
            );
        }
        let all = 1..=pages(thread);
        html += &list(all.map(|it| (format!("/showthread/{thread}?page={it}"), it.to_string())));
        look.page(&title, &html).good(format!("{thread}/{page}"))
    };
    Site::new(answer).good(good)
}

/// A board as phpBB makes it: `viewforum.php?f=&start=`, `viewtopic.php?f=&t=&start=`, a form to
/// answer, profiles, the next topic and the one before.
pub(crate) fn phpbb(seed: u64, scale: f64) -> Site {
    let forums = 12;
    let each = scaled(180, scale);
    let topics = forums * each;
    let users = scaled(400, scale);
    let posts = move |topic: usize| 1 + Random::of(seed, &format!("length {topic}")).below(35);
    let look = Look::new(
        seed,
        "phpBB forum",
        &[
            ("/index.php", "Board index"),
            ("/memberlist.php", "Members"),
        ],
        60,
    );
    let mut good = Vec::new();
    for topic in 0..topics {
        for start in (0..posts(topic)).step_by(10) {
            let forum = topic / each + 1;
            good.push((
                format!("t{topic}/{start}"),
                format!("/viewtopic.php?f={forum}&t={topic}&start={start}"),
            ));
        }
    }
    for user in 0..users {
        good.push((
            format!("u{user}"),
            format!("/memberlist.php?mode=viewprofile&u={user}"),
        ));
    }
    let answer = move |ask: &Ask| {
        match ask.path {
        "/" | "/index.php" => {
            let all = (1..=forums).map(|it| (format!("/viewforum.php?f={it}"), Random::of(seed, &format!("f{it}")).phrase(3)));
            look.plain("Board index", &list(all))
        }
        "/viewforum.php" => {
            let (Some(forum), start) = (ask.number("f").filter(|it| (1..=forums).contains(it)), ask.number("start").unwrap_or(0)) else {
                return Reply::missing();
            };
            let first = (forum - 1) * each;
            let shown = (first + start..(first + start + 25).min(first + each)).map(|it| {
                (format!("/viewtopic.php?f={forum}&t={it}"), Random::of(seed, &format!("topic {it}")).phrase(5))
            });
            let pages = (0..each).step_by(25).map(|it| (format!("/viewforum.php?f={forum}&start={it}"), (it / 25 + 1).to_string()));
            look.plain("View forum", &(list(shown) + &list(pages)))
        }
        "/viewtopic.php" => {
            let Some(topic) = ask.number("t").filter(|it| *it < topics) else {
                return Reply::missing();
            };
            let topic = match ask.get("view") {
                Some("next") => (topic + 1).min(topics - 1),
                Some("previous") => topic.saturating_sub(1),
                _ => topic,
            };
            let forum = topic / each + 1;
            if ask.get("view").is_some() {
                return Reply::moved(format!("/viewtopic.php?f={forum}&t={topic}"));
            }
            let start = ask.number("start").unwrap_or(0) / 10 * 10;
            if start >= posts(topic) {
                return Reply::missing();
            }
            let mut html = String::new();
            for post in start..(start + 10).min(posts(topic)) {
                let mut random = Random::of(seed, &format!("post {topic}/{post}"));
                let user = random.below(users);
                let words = random.between(8, 50);
                let who = link(&format!("/memberlist.php?mode=viewprofile&u={user}"), &format!("user{user}"));
                let _ = write!(html, "<div class=\"post\"><p class=\"author\">by {who}</p><p>{}</p></div>", random.prose(words));
            }
            html += &list((0..posts(topic)).step_by(10).map(|it| (format!("/viewtopic.php?f={forum}&t={topic}&start={it}"), (it / 10 + 1).to_string())));
            html += &list([
                (format!("/posting.php?mode=reply&f={forum}&t={topic}"), "Post a reply"),
                (format!("/viewtopic.php?f={forum}&t={topic}&view=next"), "Next topic"),
                (format!("/viewtopic.php?f={forum}&t={topic}&view=previous"), "Previous topic"),
            ]);
            let title = Random::of(seed, &format!("topic {topic}")).phrase(5);
            look.page(&title, &html).good(format!("t{topic}/{start}"))
        }
        "/memberlist.php" => match ask.number("u").filter(|it| *it < users) {
            Some(user) => {
                let mut random = Random::of(seed, &format!("user {user}"));
                let html = format!(
                    "<dl><dt>Username</dt><dd>user{user}</dd><dt>Joined</dt><dd>20{:02}-0{}-1{}</dd><dt>Posts</dt><dd>{}</dd><dt>From</dt><dd>{}</dd></dl>",
                    random.between(1, 20), random.between(1, 9), random.between(0, 9), random.below(5_000), random.phrase(1)
                );
                look.plain(&format!("Viewing profile - user{user}"), &html).good(format!("u{user}"))
            }
            None => look.plain("Members", &list((0..users).map(|it| (format!("/memberlist.php?mode=viewprofile&u={it}"), format!("user{it}"))))),
        },
        "/posting.php" => look.plain("Login", "<h2>Login</h2><p>The board requires you to be registered and logged in to reply to topics in this forum.</p>"),
        _ => Reply::missing(),
    }
    };
    Site::new(answer).good(good)
}

/// The address of a page of a book; the first of a chapter has no number.
fn leaf(book: usize, chapter: usize, page: usize) -> String {
    let chapter = format!("/read.php?b={book}&ch={chapter}");
    if page == 1 {
        chapter
    } else {
        format!("{chapter}&p={page}")
    }
}

/// Books read at `read.php?b=&ch=&p=`, where only the next page is linked.
pub(crate) fn read(seed: u64, scale: f64) -> Site {
    let books = 20;
    let chapters = scaled(30, scale.max(0.1));
    let pages = move |book: usize, chapter: usize| {
        6 + Random::of(seed, &format!("{book} {chapter}")).below(9)
    };
    let look = Look::new(seed, "Reading room", &[("/", "Books")], 40);
    let mut good = Vec::new();
    for book in 1..=books {
        good.push((format!("b{book}"), format!("/read.php?b={book}")));
        for chapter in 1..=chapters {
            for page in 1..=pages(book, chapter) {
                good.push((
                    format!("{book}/{chapter}/{page}"),
                    leaf(book, chapter, page),
                ));
            }
        }
    }
    let title = move |book: usize| Random::of(seed, &format!("book {book}")).phrase(4);
    let answer = move |ask: &Ask| {
        if ask.path == "/" {
            return look.page(
                "Books",
                &list((1..=books).map(|it| (format!("/read.php?b={it}"), title(it)))),
            );
        }
        let Some(book) = ask.number("b").filter(|it| (1..=books).contains(it)) else {
            return Reply::missing();
        };
        let (chapter, page) = (ask.number("ch").unwrap_or(0), ask.number("p").unwrap_or(1));
        if chapter == 0 {
            let about = Random::of(seed, &format!("about {book}")).paragraphs(60);
            let first = link(&format!("/read.php?b={book}&ch=1"), "Begin to read");
            return look
                .page(&title(book), &(about + &first))
                .good(format!("b{book}"));
        }
        if chapter > chapters || page == 0 || page > pages(book, chapter) {
            return Reply::missing();
        }
        let next = match (page < pages(book, chapter), chapter < chapters) {
            (true, _) => Some((chapter, page + 1)),
            (false, true) => Some((chapter + 1, 1)),
            (false, false) => None,
        };
        let mut html = Random::of(seed, &format!("{book}/{chapter}/{page}")).paragraphs(180);
        if let Some((chapter, page)) = next {
            html += &link(&leaf(book, chapter, page), "next page");
        }
        look.page(&title(book), &html)
            .good(format!("{book}/{chapter}/{page}"))
    };
    Site::new(answer).good(good)
}
