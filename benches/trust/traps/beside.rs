//! Traps in frames in which something changes at each request, with links to them on every page.

use crate::made_up::site::{Ask, Reply, Site, list};
use crate::made_up::skin::Skin;
use crate::made_up::text::Random;

/// Where a page stands among the good ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Place {
    Home,
    Shelf(usize),
    Good(usize),
}

impl Place {
    /// The place that a path names.
    pub(super) fn of(path: &str, good: usize) -> Option<Self> {
        let number = |prefix: &str| path.strip_prefix(prefix)?.parse::<usize>().ok();
        if path == "/" {
            return Some(Self::Home);
        }
        if let Some(shelf) = number("/list/").filter(|it| *it < good.div_ceil(40)) {
            return Some(Self::Shelf(shelf));
        }
        number("/item/").filter(|it| *it < good).map(Self::Good)
    }

    /// The page there, with its links changed by this and others added.
    pub(super) fn show(
        self,
        skin: &Skin,
        seed: u64,
        good: usize,
        serial: usize,
        with: &dyn Fn(&str) -> String,
        more: &str,
    ) -> Reply {
        let linked = |numbers: &mut dyn Iterator<Item = usize>| {
            let links = numbers.map(|it| (with(&format!("/item/{it}")), title(skin, seed, it)));
            list(links)
        };
        match self {
            Self::Home => {
                let shelves = (0..good.div_ceil(40))
                    .map(|it| (with(&format!("/list/{it}")), format!("{it}")));
                skin.page(serial, skin.name(), &(list(shelves) + more))
            }
            Self::Shelf(shelf) => {
                let html = linked(&mut (shelf * 40..(shelf * 40 + 40).min(good)));
                skin.page(serial, &format!("{} {shelf}", skin.name()), &(html + more))
            }
            Self::Good(number) => {
                let mut random = Random::of(seed, &format!("text {number}"));
                let words = random.between(40, 160);
                let text = skin.tongue.paragraphs(&mut random, words);
                let near =
                    linked(&mut [number / 2, (number + 1) % good, (number + 7) % good].into_iter());
                skin.page(serial, &title(skin, seed, number), &(text + &near + more))
                    .good(number.to_string())
            }
        }
    }
}

/// The title of a good page.
pub(super) fn title(skin: &Skin, seed: u64, number: usize) -> String {
    skin.tongue
        .phrase(&mut Random::of(seed, &format!("title {number}")), 5)
}

/// Good pages whose links are as they should be, each with more links, and a trap for the other
/// addresses.
pub(super) fn among(
    seed: u64,
    good: usize,
    skin: Skin,
    more: impl Fn(&Ask, Place) -> String + Send + Sync + 'static,
    trap: impl Fn(&Ask, &Skin) -> Reply + Send + Sync + 'static,
) -> Site {
    let answer = move |ask: &Ask| {
        let place = Place::of(ask.path, good).filter(|_| ask.query.is_empty());
        match place {
            Some(place) => {
                let more = more(ask, place);
                place.show(&skin, seed, good, ask.serial, &str::to_owned, &more)
            }
            None if ask.path == "/robots.txt" => Reply::missing(),
            None => trap(ask, &skin),
        }
    };
    whole(good, answer)
}

/// A site of so many good pages.
pub(super) fn whole(good: usize, answer: impl Fn(&Ask) -> Reply + Send + Sync + 'static) -> Site {
    let mut site =
        Site::new(answer).good((0..good).map(|it| (it.to_string(), format!("/item/{it}"))));
    site.cap = good * 12;
    site
}
