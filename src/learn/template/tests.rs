//! Sites as sets of lines, and what of them is template.

use super::*;

/// A site, counted page by page.
#[derive(Default)]
struct Site {
    template: Template,
    written: usize,
}

impl Site {
    fn page(&mut self, headline: Option<u32>, lines: &[u32]) {
        self.page_of(1, headline, lines);
    }

    fn page_of(&mut self, layout: u32, headline: Option<u32>, lines: &[u32]) {
        let units: Vec<Unit> = lines
            .iter()
            .map(|line| Unit {
                line: *line,
                is_said: *line >= FRAME,
            })
            .collect();
        let mut change = Change::of(&self.template);
        let page = Sighting {
            headline,
            layout,
            units: &units,
        };
        change.take_in(&self.template, &page);
        let bytes = change.encode();
        self.written += bytes.len();
        let mut read = self.template.clone();
        assert_eq!(read.apply(&bytes), Some(change.counted()));
        self.template.take_over(change);
        // What was done, done again, comes to the same.
        assert_eq!(read, self.template);
    }

    fn standing(&self, line: u32) -> Standing {
        Seen::new(&self.template, None).standing(line, 1, true, line < FRAME)
    }

    fn count(&self, lines: impl Iterator<Item = u32>, standing: Standing) -> usize {
        lines
            .filter(|line| self.standing(*line) == standing)
            .count()
    }
}

/// Lines below this are in the frame of the tests' pages.
const FRAME: u32 = 100;

fn frame() -> Vec<u32> {
    (0..30).collect()
}

fn with_frame(lines: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let mut all = frame();
    all.extend(lines);
    all
}

#[test]
fn lines_under_many_headlines_are_template_and_copies_are_not() {
    let mut site = Site::default();
    for page in 0..100 {
        // An article, and copies of it that were kept, each with a line of its own.
        for copy in 0..20 {
            let text = (0..10).map(|line| 10_000 + page * 100 + line);
            site.page(
                Some(page),
                &with_frame(text.chain([1_000_000 + page * 100 + copy])),
            );
        }
    }
    assert_eq!(site.count(0..30, Standing::Frame), 30);
    let texts = (0..100).flat_map(|page| (0..10).map(move |line| 10_000 + page * 100 + line));
    assert_eq!(site.count(texts, Standing::Common), 1_000);
}

#[test]
fn products_under_one_title_share_their_description_and_keep_their_price() {
    let mut site = Site::default();
    for product in 0..2_000 {
        let description = 10_000..10_020;
        site.page(
            Some(1),
            &with_frame(description.chain([50_000 + product % 900])),
        );
    }
    assert_eq!(site.count(10_000..10_020, Standing::Template), 20);
    assert_eq!(site.count(50_000..50_900, Standing::Common), 900);
}

#[test]
fn copies_under_one_title_with_equal_remainders_make_no_template() {
    let mut site = Site::default();
    for _ in 0..100 {
        site.page(Some(1), &with_frame(10_000..10_020));
    }
    assert_eq!(site.count(10_000..10_020, Standing::Common), 20);
}

#[test]
fn pages_without_headlines_are_told_apart_by_what_else_they_say() {
    let mut site = Site::default();
    for page in 0..50 {
        site.page(None, &with_frame([10_000, 20_000 + page]));
    }
    assert_eq!(site.standing(10_000), Standing::Template);
    assert_eq!(site.standing(20_007), Standing::Rare);
}

#[test]
fn a_layout_with_one_headline_is_judged_by_itself() {
    let mut site = Site::default();
    for page in 0..1_000 {
        site.page_of(2, Some(page), &with_frame([1_000 + page]));
        if page % 4 == 0 {
            site.page_of(1, Some(7_777), &with_frame([10_000, 20_000 + page]));
        }
    }
    assert_eq!(site.standing(10_000), Standing::Template);
}

#[test]
fn a_common_line_outside_the_frame_is_template_and_never_frame() {
    let mut site = Site::default();
    for page in 0..200 {
        // A price on every second page; and a line of the frame on few pages.
        let price = (page % 2 == 0).then_some(10_000);
        let rare = (page % 10 == 0).then_some(50);
        site.page(Some(page), &with_frame(price.into_iter().chain(rare)));
    }
    assert_eq!(site.standing(10_000), Standing::Template);
    assert_eq!(site.standing(50), Standing::Template);
    assert_eq!(site.standing(0), Standing::Frame);
}

#[test]
fn a_redesign_ages_the_old_frame_out() {
    let mut site = Site::default();
    (0..300).for_each(|page| site.page(Some(page), &with_frame([1_000 + page])));
    assert_eq!(site.standing(3), Standing::Frame);
    let new: Vec<u32> = (50..80).collect();
    for page in 300..1_000 {
        site.page(Some(page), &[&new[..], &[1_000 + page]].concat());
    }
    assert_eq!(site.standing(60), Standing::Frame);
    assert!(site.standing(3) <= Standing::Common);
}

#[test]
fn a_line_is_counted_once_per_page_and_as_the_page_itself_was_counted() {
    let mut site = Site::default();
    site.page(Some(1), &[500, 500, 500, 501]);
    let seen = Seen::new(&site.template, None);
    assert_eq!(seen.standing(500, 1, true, false), Standing::Rare);
    assert_eq!(seen.standing(500, 1, false, false), Standing::Common);
    assert!(seen.knows(501) && !seen.knows(502));
    assert!(!seen.is_settled(1));
}

#[test]
fn what_is_settled_is_rarely_written() {
    let mut site = Site::default();
    (0..200).for_each(|page| site.page(Some(page), &with_frame([1_000 + page])));
    site.written = 0;
    (200..1_200).for_each(|page| site.page(Some(page), &with_frame([1_000 + page])));
    // One new line and a sixteenth of thirty lines, and the page.
    let bytes = site.written / 1_000;
    assert!(bytes < 30, "{bytes} bytes a page");
    // The counts stay true.
    let pages = site.template.cells.get(3).unwrap().pages;
    assert!((1_150..=1_216).contains(&pages), "{pages}");
}

#[test]
fn templates_come_of_age() {
    let mut site = Site::default();
    let mut ages = Vec::new();
    for page in 1..=1_100 {
        let before = site.template.clone();
        site.page(Some(page), &[page]);
        let change = Change::of(&site.template);
        ages.extend(change.came_of_age(&before));
    }
    assert_eq!(ages, [16, 64, 256, 1_024]);
}

#[test]
fn what_was_written_is_read_again() {
    let mut site = Site::default();
    for page in 0..3_000 {
        site.page_of(
            page % 5,
            Some(page),
            &with_frame((0..20).map(|line| 1_000 + page * 20 + line)),
        );
    }
    let mut change = Change::of(&site.template);
    change.note_change(Class::Place(9), true);
    change.note_change(Class::Place(9), true);
    assert_eq!(site.template.apply(&change.encode()), Some(0));
    let mut read = Template::decode(&site.template.encode()).unwrap();
    assert_eq!(read.head, site.template.head);
    assert_eq!(read.len(), site.template.len());
    for line in 0..1_000_000 {
        assert_eq!(read.cells.get(line), site.template.cells.get(line));
    }
    assert!(Seen::new(&read, None).is_volatile(Class::Place(9)));
    assert!(read.memory_bytes() < 420_000);
    let bytes = site.template.encode();
    // A line takes some seven bytes.
    assert!(bytes.len() < 120_000, "{}", bytes.len());
    let before = read.clone();
    let cut = &bytes[..bytes.len() - 1];
    assert!(Template::decode(cut).is_none() && read.apply(cut).is_none());
    assert_eq!(read.apply(&[]), None);
    assert_eq!(read, before);
}

/// A change of lines that may change between two fetches is what was asked and found.
#[test]
fn what_was_asked_and_found_is_done_again() {
    let base = Template::default();
    let mut change = Change::of(&base);
    let slots: Vec<u32> = (0..20).collect();
    for round in 0..30 {
        change.suspect(&slots[..5 + round % 15]);
        change.doubt(Class::Place(round as u32 / 4));
        change.note_change(Class::Numbers(round as u32 % 3), round % 2 == 0);
    }
    let bytes = change.encode();
    assert_eq!(written::change(&base, &bytes).unwrap().head, change.head);
    for cut in 0..bytes.len() {
        assert!(written::change(&base, &bytes[..cut]).is_none());
    }
    assert!(written::change(&base, &[&bytes[..], &[0]].concat()).is_none());
}

/// Rows of format 15: what is known of the site, and cells of 20 bytes.
#[test]
fn rows_of_before_are_read() {
    let mut site = Site::default();
    for page in 0..200 {
        site.page(Some(page), &with_frame([1_000 + page]));
    }
    let old = |template: &Template| {
        let mut bytes = postcard::to_allocvec(&template.head).unwrap();
        for cell in template.cells.iter() {
            let numbers = [
                cell.line,
                cell.headlines,
                cell.remainders,
                cell.pages,
                cell.seen,
            ];
            bytes.extend(numbers.iter().flat_map(|it| it.to_le_bytes()));
        }
        bytes
    };
    let bytes = old(&site.template);
    let read = Template::decode(&bytes).unwrap();
    assert_eq!(read.head, site.template.head);
    for line in 0..1_200 {
        assert_eq!(read.cells.get(line), site.template.cells.get(line));
    }
    // As a change it was what the pages changed, as it was afterwards.
    let mut empty = Template::default();
    assert_eq!(empty.apply(&bytes), Some(site.template.len()));
    assert_eq!(empty.head, site.template.head);
    assert_eq!(empty.len(), site.template.len());
    let mut read = read;
    assert!(read.apply(&bytes[..bytes.len() - 1]).is_none());
    assert!(Template::decode(&bytes[..bytes.len() - 1]).is_none());
}

#[test]
fn a_class_is_volatile_once_it_changed_on_two_pages() {
    let mut change = Change::default();
    let base = Template::default();
    let is_volatile = |change: &Change, class| Seen::new(&base, Some(change)).is_volatile(class);
    let [line, price, other] = [1, 2, 999].map(Class::Place);
    assert_eq!(change.doubt(line), Doubt::Ask);
    assert!(!change.note_change(line, true));
    assert!(!is_volatile(&change, line), "a price that was raised");
    assert_eq!(
        [0; 3].map(|_| change.doubt(line)),
        [Doubt::Ask, Doubt::Ask, Doubt::Wait]
    );
    assert!(change.note_change(line, true), "now it is known");
    assert!(is_volatile(&change, line) && !is_volatile(&change, price));
    assert_eq!(change.doubt(line), Doubt::None);
    for _ in 0..3 {
        assert_eq!(change.doubt(price), Doubt::Ask);
        assert!(!change.note_change(price, false));
    }
    assert_eq!(
        change.doubt(price),
        Doubt::None,
        "three pages did not change"
    );
    // A site with a line of its own on each page is not visited twice.
    let asked = (10..1_000).filter(|class| change.doubt(Class::Place(*class)) == Doubt::Ask);
    let asked = asked.count();
    assert!(asked <= MAX_CLASSES, "{asked}");
    assert_eq!(
        change.doubt(Class::Numbers(1)),
        Doubt::Ask,
        "these are counted apart"
    );
    assert!(!change.note_change(other, true) && !change.note_change(other, true));
    assert!(!is_volatile(&change, other));
    // Pages whose line is asked for and that never come do not make others wait forever.
    for _ in 0..MAX_WAITING + 3 {
        change.doubt(Class::Numbers(1));
    }
    assert_eq!(change.doubt(Class::Numbers(1)), Doubt::None);
}

#[test]
fn classes_are_told_by_their_letters_or_their_neighbours() {
    let of_numbers = |letters, around| Class::of_numbers(letters, around);
    assert_eq!(of_numbers(1, None), of_numbers(1, None));
    assert_ne!(of_numbers(1, None), of_numbers(2, None));
    assert_ne!(of_numbers(1, Some((1, 2))), of_numbers(1, Some((1, 4))));
    assert_ne!(of_numbers(1, Some((1, 2))), of_numbers(3, Some((1, 2))));
    assert_ne!(Class::of_place(1, 2), Class::of_place(2, 1));
}

#[test]
fn a_slot_is_a_place_between_lines_that_many_pages_have() {
    let page = |of: &[u32]| slots(&of.iter().map(|it| (*it, *it < 10)).collect::<Vec<_>>());
    let one = page(&[1, 70, 80, 2, 90]);
    assert_eq!(one, page(&[1, 71, 81, 2, 91]));
    let mut apart = one.clone();
    apart.sort_unstable();
    apart.dedup();
    assert_eq!(apart.len(), one.len());
    // With another line between them, it is another place.
    let other = page(&[1, 70, 2, 90]);
    assert!(!one.contains(&other[1]));
    assert_eq!(other[3], one[4]);
}

#[test]
fn few_pages_are_visited_again_for_their_slots() {
    let mut change = Change::default();
    let asked = (0..100).filter(|_| change.suspect(&[5]).is_some()).count();
    assert_eq!(asked, usize::from(MAX_ASKED));
    let all = (100..200).flat_map(|slot| [slot; 20]);
    let asked = all
        .filter(|slot| change.suspect(&[*slot]).is_some())
        .count();
    assert_eq!(asked, MIN_AGAIN as usize - usize::from(MAX_ASKED));
    // What was seen not to change is known.
    change.note_change(Class::Slot(5), false);
    let base = Template::default();
    let seen = Seen::new(&base, Some(&change));
    assert!(seen.is_steady(Class::Slot(5)) && !seen.is_steady(Class::Slot(100)));
}
