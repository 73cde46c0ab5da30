//! Traps that are made of the links of each page: sessions, referrers, ways back, spellings.

use super::beside::{Place, among, title, whole};
use crate::made_up::site::{Ask, HOST, Reply, Site, at, link, list};
use crate::made_up::skin::{Build, Noise, Skin};
use crate::made_up::text::Random;
use crate::made_up::tongue::Tongue;

/// A session in the path and again in the query; it is another after each twenty requests.
pub(super) fn session_twice(seed: u64, good: usize) -> Site {
    let skin = Skin::new(seed, "Катушка", Build::Tables, Tongue::Russian).noise(&[Noise::Clock]);
    let answer = move |ask: &Ask| {
        let path = ask.path.split(";jsessionid=").next().unwrap_or_default();
        let session = Random::of(seed, &format!("session {}", ask.serial / 20))
            .hex(32)
            .to_uppercase();
        let with = |path: &str| format!("{path};jsessionid={session}?sid={session}");
        match Place::of(path, good) {
            Some(place) => place.show(&skin, seed, good, ask.serial, &with, ""),
            None => Reply::missing(),
        }
    };
    whole(good, answer)
}

/// Any name below the domain shows the site; each page links some.
pub(super) fn wildcard(seed: u64, good: usize) -> Site {
    const NAMES: usize = 3_000;
    let skin = Skin::new(seed, "Free pages", Build::Bare, Tongue::English).noise(&[Noise::Ads]);
    let name = move |it: usize| {
        format!(
            "{}{it}.{HOST}",
            Random::of(seed, &format!("name {it}")).slug(1)
        )
    };
    let answer = move |ask: &Ask| {
        let mut random = Random::of(seed, &format!("{} {}", ask.host, ask.path));
        let names = list(
            (0..4)
                .map(|_| name(random.below(NAMES)))
                .map(|it| (format!("http://{it}/"), it)),
        );
        match Place::of(ask.path, good) {
            Some(place) if ask.host == HOST => place.show(&skin, seed, good, ask.serial, &str::to_owned, &names),
            Some(Place::Home) => skin.page(ask.serial, "This name is free", &format!("<p>The name {} may be yours. Ask us for a price, or look at others:</p>{names}", ask.host)),
            _ => Reply::missing(),
        }
    };
    let mut site = whole(good, answer);
    site.hosts.extend((0..NAMES).map(name));
    site.scope = "domain";
    site
}

/// Each link names the page on which it stands.
pub(super) fn referrer(seed: u64, good: usize) -> Site {
    let skin = Skin::new(seed, "Daily loom", Build::Modern, Tongue::English)
        .noise(&[Noise::Views, Noise::Token]);
    let answer = move |ask: &Ask| {
        let from = ask.path.trim_start_matches('/').replace('/', "_");
        let with = |path: &str| format!("{path}?ref={from}");
        match Place::of(ask.path, good) {
            Some(place) => place.show(&skin, seed, good, ask.serial, &with, ""),
            None => Reply::missing(),
        }
    };
    whole(good, answer)
}

/// A page to recommend the page, with the way back, which has the way back in it.
pub(super) fn way_back(seed: u64, good: usize) -> Site {
    let skin = Skin::new(seed, "Drehbank", Build::Soup, Tongue::German).noise(&[Noise::Token]);
    let encoded = |ask: &Ask| match ask.query {
        "" => ask.path.replace('/', "%2F"),
        query => format!(
            "{}%3F{}",
            ask.path.replace('/', "%2F"),
            query.replace('%', "%25").replace('=', "%3D")
        ),
    };
    among(
        seed,
        good,
        skin,
        move |ask, _| {
            link(
                &format!("/empfehlen?back={}", encoded(ask)),
                "Weiterempfehlen",
            )
        },
        move |ask, skin| {
            if ask.path != "/empfehlen" && ask.path != "/anmelden" {
                return Reply::missing();
            }
            let back = ask.get("back").unwrap_or_default();
            let links = list([
                (format!("/anmelden?back={}", encoded(ask)), "Anmelden"),
                (
                    format!("/empfehlen?back={}", encoded(ask)),
                    "Weiterempfehlen",
                ),
            ]);
            let form = format!(
                "<form method=\"post\"><input type=\"hidden\" name=\"back\" value=\"{back}\"><label>An</label><input name=\"to\"></form>"
            );
            skin.page(ask.serial, "Seite empfehlen", &(form + &links))
        },
    )
}

/// One page in several spellings: capitals, slashes, codes, dots.
pub(super) fn spellings(seed: u64, good: usize) -> Site {
    let skin =
        Skin::new(seed, "Ye olde server", Build::Tables, Tongue::English).noise(&[Noise::Online]);
    let answer = move |ask: &Ask| {
        let path = ask
            .path
            .to_lowercase()
            .replace("%69", "i")
            .replace("/./", "/");
        let path = path
            .split('/')
            .filter(|it| !it.is_empty())
            .collect::<Vec<_>>()
            .join("/");
        let with =
            |path: &str| match Random::of(seed, &format!("{path} from {}", ask.path)).below(6) {
                0 => path.to_uppercase(),
                1 => path.replace("/item", "/Item").replace("/list", "/List"),
                2 => path.replacen('/', "//", 3).replacen("//", "/", 1),
                3 => path.replace("/i", "/%69"),
                _ => path.to_owned(),
            };
        match Place::of(&format!("/{path}"), good) {
            Some(place) => place.show(&skin, seed, good, ask.serial, &with, ""),
            None => Reply::missing(),
        }
    };
    whole(good, answer)
}

/// Every link has a number that no other has, and the pages have an advertisement each.
pub(super) fn buster(seed: u64, good: usize) -> Site {
    let skin = Skin::new(seed, "新闻网", Build::Soup, Tongue::Chinese).noise(&[
        Noise::Ads,
        Noise::Clock,
        Noise::Views,
    ]);
    let answer = move |ask: &Ask| {
        let mut random = Random::of(seed, &format!("buster {}", ask.serial));
        let number = random.below(1 << 30);
        let with = |path: &str| format!("{path}?r=0.{number}");
        match Place::of(ask.path, good) {
            Some(place) => place.show(&skin, seed, good, ask.serial, &with, ""),
            None => Reply::missing(),
        }
    };
    whole(good, answer)
}

/// Twenty languages to choose on each page; the texts stay, the frame changes.
pub(super) fn twenty_languages(seed: u64, good: usize) -> Site {
    let names = [
        "en", "de", "fr", "es", "it", "pl", "nl", "sv", "cs", "da", "fi", "el", "hu", "ro", "bg",
        "hr", "sk", "sl", "et", "lv",
    ];
    let english = Skin::new(seed, "Parts depot", Build::Modern, Tongue::English)
        .links(&[("/", "Home")])
        .noise(&[Noise::Token]);
    let skins: Vec<Skin> = (0..4)
        .map(|it| {
            english.in_tongue(
                [
                    Tongue::English,
                    Tongue::German,
                    Tongue::Russian,
                    Tongue::Arabic,
                ][it],
            )
        })
        .collect();
    let answer = move |ask: &Ask| {
        let lang = ask
            .get("lang")
            .and_then(|it| names.iter().position(|name| *name == it))
            .unwrap_or(0);
        let choose = list(names.map(|it| (format!("{}?lang={it}", ask.path), it)));
        // The text of each good page stays as it was written.
        match Place::of(ask.path, good) {
            Some(Place::Good(number)) => {
                let mut random = Random::of(seed, &format!("text {number}"));
                let words = random.between(40, 160);
                let text = Tongue::English.paragraphs(&mut random, words);
                skins[lang % 4]
                    .page(
                        ask.serial,
                        &title(&english, seed, number),
                        &(text + &choose),
                    )
                    .good(number.to_string())
            }
            Some(place) => place.show(&english, seed, good, ask.serial, &str::to_owned, ""),
            None => Reply::missing(),
        }
    };
    whole(good, answer)
}

/// A print view, one for phones and one for AMP beside each page, in frames of their own.
pub(super) fn three_views(seed: u64, good: usize) -> Site {
    let skin =
        Skin::new(seed, "Gazette", Build::Soup, Tongue::English).noise(&[Noise::Ads, Noise::Views]);
    let bare = Skin::new(seed, "Gazette", Build::Bare, Tongue::English);
    let last = Skin::new(seed, "Gazette", Build::NavLast, Tongue::English).noise(&[Noise::Ads]);
    among(
        seed,
        good,
        skin,
        |_, place| match place {
            Place::Good(it) => list([
                (format!("/item/{it}?print=1"), "Print"),
                (format!("/item/{it}/amp"), "AMP"),
                (format!("/m/item/{it}"), "Phone"),
            ]),
            _ => String::new(),
        },
        move |ask, _| {
            let (skin, path) = match (ask.path.strip_suffix("/amp"), ask.path.strip_prefix("/m")) {
                (Some(path), _) | (_, Some(path)) => (&last, path),
                _ => (&bare, ask.path),
            };
            match Place::of(path, good) {
                Some(place) => {
                    let more = link(path, "Full site");
                    place.show(skin, seed, good, ask.serial, &str::to_owned, &more)
                }
                None => Reply::missing(),
            }
        },
    )
}

/// What a wiki puts beside each page: to edit, what links here, what changed, to print, to cite.
pub(super) fn wiki_tools(seed: u64, good: usize) -> Site {
    let skin = Skin::new(seed, "Wikithek", Build::NavLast, Tongue::German).noise(&[Noise::Token]);
    among(
        seed,
        good,
        skin,
        |_, place| match place {
            Place::Good(it) => list([
                (
                    format!("/index.php?title=item_{it}&action=edit"),
                    "Bearbeiten".to_owned(),
                ),
                (
                    format!("/index.php?title=item_{it}&action=edit&section=1"),
                    "Abschnitt bearbeiten".to_owned(),
                ),
                (
                    format!("/index.php?title=item_{it}&printable=yes"),
                    "Druckversion".to_owned(),
                ),
                (
                    format!("/wiki/Spezial:Linkliste/item_{it}"),
                    "Links hierher".to_owned(),
                ),
                (
                    format!("/index.php?title=Spezial:Anmelden&returnto=item_{it}"),
                    "Anmelden".to_owned(),
                ),
            ]),
            _ => String::new(),
        },
        move |ask, skin| {
            let about = ask
                .get("title")
                .or_else(|| ask.path.strip_prefix("/wiki/Spezial:Linkliste/"))
                .unwrap_or_default();
            let number = about
                .strip_prefix("item_")
                .and_then(|it| it.parse::<usize>().ok())
                .filter(|it| *it < good);
            match (number, ask.get("printable"), ask.get("action")) {
                (Some(number), Some(_), _) => Place::Good(number).show(skin, seed, good, ask.serial, &str::to_owned, ""),
                (Some(number), _, Some("edit")) => skin.page(
                    ask.serial,
                    &format!("Quelltext von {}", title(skin, seed, number)),
                    "<p>Du bist nicht berechtigt, diese Seite zu bearbeiten. Dafür musst du angemeldet sein.</p>",
                ),
                (Some(number), ..) => skin.page(ask.serial, "Links auf diese Seite", &list([(format!("/item/{}", number / 3), title(skin, seed, number / 3))])),
                _ => skin.page(ask.serial, "Anmelden", "<form method=\"post\"><label>Benutzername</label><input name=\"wpName\"></form>"),
            }
        },
    )
}

/// A cart, a list of wishes and a list to compare, all by link.
pub(super) fn carts(seed: u64, good: usize) -> Site {
    let skin = Skin::new(seed, "Tools & more", Build::Soup, Tongue::English)
        .noise(&[Noise::Token, Noise::Popular])
        .popular(
            (0..good.min(50))
                .map(|it| (format!("/item/{it}"), format!("Item {it}")))
                .collect(),
        );
    among(
        seed,
        good,
        skin,
        |_, place| match place {
            Place::Good(it) => list([
                (format!("/cart?add={it}"), "Add to cart"),
                (format!("/wishlist/add/{it}"), "Remember"),
                (format!("/compare?ids={it}"), "Compare"),
            ]),
            _ => String::new(),
        },
        move |ask, skin| match ask.path {
            "/compare" => {
                let ids: Vec<usize> = ask
                    .get("ids")
                    .unwrap_or_default()
                    .split(',')
                    .filter_map(|it| it.parse().ok())
                    .filter(|it| *it < good)
                    .collect();
                let joined: Vec<String> = ids.iter().map(ToString::to_string).collect();
                let others = Random::of(seed, ask.query).below(good);
                let shown = list(
                    ids.iter()
                        .map(|it| (format!("/item/{it}"), title(skin, seed, *it))),
                );
                skin.page(
                    ask.serial,
                    "Compare",
                    &(shown
                        + &list((0..3).map(|it| {
                            (
                                format!(
                                    "/compare?ids={},{}",
                                    joined.join(","),
                                    (others + it) % good
                                ),
                                "and this one",
                            )
                        }))),
                )
            }
            "/cart" => match ask.number("add").filter(|it| *it < good) {
                Some(it) => skin.page(
                    ask.serial,
                    "Your cart",
                    &format!(
                        "<p>In your cart:</p>{}<p>1</p>",
                        list([(format!("/item/{it}"), title(skin, seed, it))])
                    ),
                ),
                None => skin.page(ask.serial, "Your cart", "<p>Your cart is empty.</p>"),
            },
            path if path.starts_with("/wishlist/") => Reply::moved("/account/login".to_owned()),
            "/account/login" => skin.page(
                ask.serial,
                "Log in",
                "<form method=\"post\"><input name=\"email\"></form>",
            ),
            _ => Reply::missing(),
        },
    )
}

/// Forms to answer and to quote, and to log in before: all alike but for what the address names.
pub(super) fn replies(seed: u64, good: usize) -> Site {
    let skin = Skin::new(seed, "Stammtisch", Build::Tables, Tongue::German)
        .noise(&[Noise::Online, Noise::Clock]);
    let mut site = among(
        seed,
        good,
        skin,
        |_, place| match place {
            Place::Good(it) => list([
                (
                    format!("/posting.php?mode=reply&t={it}"),
                    "Antworten".to_owned(),
                ),
                (
                    format!("/posting.php?mode=quote&p={}", it * 9 + 4),
                    "Zitieren".to_owned(),
                ),
                (
                    format!("/ucp.php?mode=login&redirect=item%2F{it}"),
                    "Anmelden".to_owned(),
                ),
                (format!("/report.php?p={}", it * 9 + 4), "Melden".to_owned()),
            ]),
            _ => String::new(),
        },
        |ask, skin| {
            match ask.path {
            "/posting.php" | "/ucp.php" | "/report.php" => skin.page(ask.serial, "Anmelden", "<p>Du musst angemeldet sein, um das zu tun.</p><form method=\"post\"><input name=\"username\"></form>"),
            _ => Reply::missing(),
        }
        },
    );
    site.seeds.push(at("/list/0"));
    site
}
