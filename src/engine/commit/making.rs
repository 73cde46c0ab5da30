//! Makes what is kept of bodies of duplicates, beside the committer: a few threads read originals,
//! undo content codings and compress. The committer says what is to be made and waits for all
//! bodies of a group together.
//!
//! Nothing is written here. What is made lasts with the group's commit, so a kill while a body is
//! being made leaves nothing behind.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::thread::{self, JoinHandle};

use bytes::Bytes;

use crate::archive::{
    self, Digest, Limits, MAX_DELTA_CONTENT, PackBase, PackedBody, RecordId, WarcOptions, compress,
};
use crate::dedup::Stored;
use crate::engine::error::Error;
use crate::engine::visit::KeptBody;
use crate::journal::Content;
use crate::page::charset;
use crate::unicode;
use crate::url::UrlId;

/// More threads than this do not help with a group of 32 visits.
const MAX_THREADS: usize = 4;

/// Bytes of originals that may be read for one group of visits.
const MAX_READ: usize = 16 << 20;

/// Contents of more bytes than this are compressed one at a time, because that takes several times
/// their memory.
const LARGE: usize = 1 << 20;

/// A delta that takes more than this part, in hundredths, of what the body takes by itself says
/// that the two pages have little in common.
const MAX_SHARE: usize = 60;

/// A delta below this part of the body, in hundredths, is not compared with the body compressed by
/// itself: hardly any page shrinks that much.
const SMALL: usize = 4;

/// What is to be made: the body of one duplicate.
pub(crate) struct Order {
    pub(super) page: UrlId,
    /// The visit's record.
    pub(super) visit: RecordId,
    /// Digest of the body as received.
    pub(super) payload: [u8; 32],
    pub(super) head: Vec<u8>,
    pub(super) body: Bytes,
    /// The visible text, where the verdict rests on less than equal bytes; empty for what is no
    /// page.
    pub(super) text: Option<String>,
    /// The stored response of the original, if it may be at hand.
    pub(super) base: Option<Arc<Base>>,
}

/// The stored response of an original. It is read once for all duplicates of a group.
pub(super) struct Base {
    pub(super) stored: Stored,
    /// Digest of the payload.
    pub(super) payload: [u8; 32],
    /// Head and payload, where the group itself stores the response.
    pub(super) own: Option<(Vec<u8>, Bytes)>,
    /// The content, once it was looked for.
    pub(super) content: OnceLock<Option<Arc<Content>>>,
}

/// What came of an order.
pub(super) enum Made {
    Kept(Box<KeptBody>),
    /// The page has little in common with its original after all.
    Doubtful,
}

/// What the threads share for one group.
struct Shared {
    warc: WarcOptions,
    /// Bytes of originals that may still be read.
    left: AtomicUsize,
    /// Held while a large content is compressed.
    large: Mutex<()>,
    /// An original could not be read although its file is there.
    failed: Mutex<Option<archive::Error>>,
}

/// An order, with its number in the group and the way back for what comes of it.
struct Job {
    number: usize,
    order: Arc<Order>,
    shared: Arc<Shared>,
    done: mpsc::Sender<(usize, thread::Result<Result<Made, Error>>)>,
}

/// The threads. They start with the first order and end with this.
#[derive(Default)]
pub(super) struct Makers {
    jobs: Option<mpsc::Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl Makers {
    /// Makes the bodies of a group, and returns what came of each, in order; nothing if making one
    /// of them panicked. `warc` is the archive of the originals.
    pub(super) fn make(
        &mut self,
        orders: &[Arc<Order>],
        warc: &WarcOptions,
    ) -> Result<Option<Vec<Made>>, Error> {
        let shared = Arc::new(Shared {
            warc: warc.clone(),
            left: AtomicUsize::new(MAX_READ),
            large: Mutex::new(()),
            failed: Mutex::default(),
        });
        let (done, results) = mpsc::channel();
        self.start();
        for (number, order) in orders.iter().enumerate() {
            let job = Job {
                number,
                order: Arc::clone(order),
                shared: Arc::clone(&shared),
                done: done.clone(),
            };
            let sent = match &self.jobs {
                Some(jobs) => jobs.send(job).map_err(|mpsc::SendError(job)| job),
                None => Err(job),
            };
            // Where no thread could be started, the committer does it.
            if let Err(job) = sent {
                job.run();
            }
        }
        drop(done);
        let mut made: Vec<Option<Made>> = orders.iter().map(|_| None).collect();
        for (number, result) in results {
            let Ok(result) = result else {
                return Ok(None);
            };
            if let Some(place) = made.get_mut(number) {
                *place = Some(result?);
            }
        }
        let mut failed = shared.failed.lock().unwrap_or_else(PoisonError::into_inner);
        match failed.take() {
            Some(error) => Err(error.into()),
            None => Ok(made.into_iter().collect()),
        }
    }

    fn start(&mut self) {
        if self.jobs.is_some() {
            return;
        }
        let (jobs, waiting) = mpsc::channel::<Job>();
        // The lock is held while waiting for an order; the others wait for the lock instead.
        let waiting = Arc::new(Mutex::new(waiting));
        let count = thread::available_parallelism().map_or(1, usize::from);
        for number in 0..count.min(MAX_THREADS) {
            let waiting = Arc::clone(&waiting);
            let work = move || {
                loop {
                    let waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
                    let next = waiting.recv();
                    drop(waiting);
                    let Ok(job) = next else { return };
                    job.run();
                }
            };
            let thread = thread::Builder::new().name(format!("body-{number}"));
            self.threads.extend(thread.spawn(work).ok());
        }
        self.jobs = (!self.threads.is_empty()).then_some(jobs);
    }
}

impl Drop for Makers {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Job {
    fn run(self) {
        let made = catch_unwind(AssertUnwindSafe(|| self.order.make(&self.shared)));
        // The committer may have given up.
        let _ = self.done.send((self.number, made));
    }
}

impl Order {
    fn make(&self, shared: &Shared) -> Result<Made, Error> {
        let own = Content::of(&self.head, &self.body);
        let _turn = (own.bytes().len() > LARGE)
            .then(|| shared.large.lock().unwrap_or_else(PoisonError::into_inner));
        let base = match &self.base {
            Some(base) if is_usable(&own) => base.content(shared).map(|content| (base, content)),
            _ => None,
        };
        let Some((at, base)) = base else {
            let alone = frame(None, own.bytes())?;
            return Ok(Made::Kept(Box::new(self.kept(&own, alone))));
        };
        let delta = frame(Some(base.bytes()), own.bytes())?;
        if delta.len() * 100 > own.bytes().len() * SMALL {
            let alone = frame(None, own.bytes())?;
            if delta.len() * 100 > alone.len() * MAX_SHARE {
                return Ok(match self.has_little_in_common(&own, base)? {
                    true => Made::Doubtful,
                    false => Made::Kept(Box::new(self.kept(&own, alone))),
                });
            }
        }
        let mut kept = self.kept(&own, delta);
        kept.packed.base = Some(PackBase {
            payload: Digest::from_bytes(at.payload),
            length: base.bytes().len() as u64,
        });
        kept.base = Some(at.stored);
        Ok(Made::Kept(Box::new(kept)))
    }

    /// Returns what is kept of a body whose frame is `data`, without a base.
    fn kept(&self, own: &Content, data: Vec<u8>) -> KeptBody {
        let is_as_received = own.body() == &self.body[..];
        KeptBody {
            packed: PackedBody {
                visit: self.visit,
                base: None,
                digest: Digest::of(own.body()),
                received: (!is_as_received).then(|| Digest::of(&self.body)),
                is_coded: own.is_coded(),
                head_length: own.head().len() as u64,
                length: own.body().len() as u64,
                data,
            },
            base: None,
        }
    }

    /// Returns `true` if neither the bodies nor the visible text of the page are to be found in the
    /// original: the text that was compared is then not what the pages are about. Pages that differ
    /// in markup and frame alone have their text in common.
    fn has_little_in_common(&self, own: &Content, base: &Content) -> Result<bool, Error> {
        let Some(text) = &self.text else {
            return Ok(false);
        };
        let differ = |base: &[u8], own: &[u8]| -> Result<bool, Error> {
            let (delta, alone) = (frame(Some(base), own)?, frame(None, own)?);
            Ok(delta.len() * 100 > alone.len() * MAX_SHARE)
        };
        if !differ(base.body(), own.body())? {
            return Ok(false);
        }
        if text.is_empty() {
            return Ok(true);
        }
        let content_type = base.header("content-type");
        let other = charset::to_text(base.body(), content_type.as_deref());
        // As they were compared: accents may be written apart in one of the two.
        let (other, text) = (unicode::composed(&other.text), unicode::composed(text));
        differ(other.as_bytes(), text.as_bytes())
    }
}

impl Base {
    /// Returns the content of the response, if it is at hand.
    fn content(&self, shared: &Shared) -> Option<&Content> {
        let content = self.content.get_or_init(|| {
            let content = self.read(shared)?;
            let left = |left: usize| left.checked_sub(content.bytes().len());
            let is_usable = is_usable(&content)
                && (shared.left)
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, left)
                    .is_ok();
            is_usable.then(|| Arc::new(content))
        });
        content.as_deref()
    }

    /// Reads the response, from the group or from the archive.
    fn read(&self, shared: &Shared) -> Option<Content> {
        if let Some((head, payload)) = &self.own {
            return Some(Content::of(head, payload));
        }
        let left = shared.left.load(Ordering::Relaxed);
        let limits = Limits {
            block_bytes: left.min(MAX_DELTA_CONTENT) as u64,
            ..Limits::default()
        };
        let record = match shared.warc.read(&(&self.stored).into(), limits) {
            Ok(record) => record,
            Err(archive::Error::TooLarge { .. }) => return None,
            // The file may have been moved away, which is allowed.
            Err(error) if error.io_kind() == Some(io::ErrorKind::NotFound) => return None,
            Err(error @ archive::Error::Io { .. }) => {
                let mut failed = shared.failed.lock().unwrap_or_else(PoisonError::into_inner);
                *failed = Some(error);
                return None;
            }
            Err(error) => {
                tracing::warn!(%error, "an original is damaged; bodies of its duplicates are kept whole");
                return None;
            }
        };
        let stored = record.http_parts();
        let is_it = |payload| Digest::of(payload) == Digest::from_bytes(self.payload);
        let Some((head, payload)) = stored.filter(|(_, payload)| is_it(payload)) else {
            let (segment, offset) = (self.stored.segment, self.stored.offset);
            tracing::warn!(
                segment,
                offset,
                "the record is not the original that was stored there; bodies of its duplicates are kept whole"
            );
            return None;
        };
        Some(Content::of(head, &Bytes::copy_from_slice(payload)))
    }
}

/// Returns `true` if a content can be a delta, or the base of one.
fn is_usable(content: &Content) -> bool {
    !content.is_coded() && content.bytes().len() <= MAX_DELTA_CONTENT
}

/// Compresses bytes, as a delta if there is a prefix.
fn frame(prefix: Option<&[u8]>, bytes: &[u8]) -> Result<Vec<u8>, Error> {
    compress(prefix, bytes)
        .map_err(|error| Error::Internal(format!("zstd cannot compress a body: {error}")))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::archive::{Archive as _, Capture, Record, Start, WarcArchive};

    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";

    fn page(number: usize, length: usize) -> Vec<u8> {
        let line = |at: usize| format!("<p>Line {} of page {number}.</p>\n", at * at * number);
        (0..length).flat_map(|at| line(at).into_bytes()).collect()
    }

    /// Stores pages, and returns them as bases.
    fn stored(warc: &WarcOptions, pages: &[Vec<u8>]) -> Vec<Arc<Base>> {
        let (mut archive, _) = WarcArchive::open(warc.clone(), Start::Empty).unwrap();
        let record = |page: &Vec<u8>| {
            let capture = Capture {
                target: "http://a.example/",
                date: Timestamp::UNIX_EPOCH,
                ip: None,
                protocols: &[],
            };
            let body = Bytes::copy_from_slice(page);
            Record::response(&capture, HEAD.to_vec(), body, Digest::of(page), None)
        };
        let records: Vec<Record> = pages.iter().map(record).collect();
        let places = archive.append(&records).unwrap();
        archive.sync().unwrap();
        let bases = pages.iter().zip(&places).map(|(page, place)| {
            Arc::new(Base {
                stored: Stored {
                    segment: place.segment,
                    offset: place.offset,
                    length: place.length,
                    ..Stored::default()
                },
                payload: *Digest::of(page).as_bytes(),
                own: None,
                content: OnceLock::new(),
            })
        });
        bases.collect()
    }

    fn order(body: Vec<u8>, base: Option<&Arc<Base>>) -> Arc<Order> {
        Arc::new(Order {
            page: UrlId::from_bytes([1; 16]),
            visit: RecordId::new(1),
            payload: *Digest::of(&body).as_bytes(),
            head: HEAD.to_vec(),
            text: Some(String::from_utf8(body.clone()).unwrap()),
            body: body.into(),
            base: base.map(Arc::clone),
        })
    }

    #[track_caller]
    fn kept(made: &Made) -> &KeptBody {
        match made {
            Made::Kept(body) => body,
            Made::Doubtful => panic!("a doubtful verdict"),
        }
    }

    #[test]
    fn bodies_are_made_in_order_and_come_back_as_they_were() {
        let place = tempfile::tempdir().unwrap();
        let warc = WarcOptions::new(place.path());
        let pages: Vec<_> = (1..4).map(|number| page(number, 400)).collect();
        let bases = stored(&warc, &pages);
        let orders: Vec<_> = (0..24)
            .map(|at| {
                let more = format!("<p>Copy {at}.</p>").into_bytes();
                let base = bases.get(at % 4);
                order(
                    [&pages[at % 3][..], &more].concat(),
                    base.filter(|_| at % 4 == at % 3),
                )
            })
            .collect();
        let mut makers = Makers::default();
        // The second time from what the first has read.
        for _ in 0..2 {
            let made = makers.make(&orders, &warc).unwrap().unwrap();
            assert_eq!(made.len(), orders.len());
            for (order, made) in orders.iter().zip(&made) {
                let KeptBody { packed, base } = kept(made);
                assert_eq!(packed.base.is_some(), order.base.is_some());
                assert_eq!(*base, order.base.as_ref().map(|it| it.stored));
                let base = order.base.as_ref().and_then(|it| it.content.get());
                let base = base.map(|it| it.as_ref().unwrap().bytes());
                let (head, body) = packed.content(base).unwrap();
                assert_eq!((&head[..], &body[..]), (HEAD, &order.body[..]));
            }
        }
    }

    #[test]
    fn an_original_that_is_gone_or_another_page_makes_no_delta() {
        let place = tempfile::tempdir().unwrap();
        let warc = WarcOptions::new(place.path());
        let pages = [page(1, 400), page(2, 400)];
        let bases = stored(&warc, &pages);
        let copy = [&pages[0][..], b"<p>And more.</p>"].concat();
        let other: Vec<u8> = (0..6_000_u32)
            .flat_map(|at| format!("{:x} ", at.wrapping_mul(2_654_435_761)).into_bytes())
            .collect();
        let mut makers = Makers::default();
        let mut make = |order: Arc<Order>, warc: &WarcOptions| {
            makers.make(&[order], warc).unwrap().unwrap().remove(0)
        };
        let made = make(order(other, Some(&bases[0])), &warc);
        assert!(matches!(made, Made::Doubtful));
        let moved = WarcOptions::new(place.path().join("moved"));
        let made = make(order(copy.clone(), Some(&bases[1])), &moved);
        assert_eq!(kept(&made).packed.content(None).unwrap().1, copy);
    }

    /// That an original was moved away costs a delta; that it cannot be read ends the run.
    #[test]
    fn an_original_that_cannot_be_read_is_an_error() {
        let place = tempfile::tempdir().unwrap();
        let warc = WarcOptions::new(place.path());
        let pages = [page(1, 400), page(2, 400)];
        let bases = stored(&warc, &pages);
        let copy = |at: usize| [&pages[at][..], b"<p>And more.</p>"].concat();
        let file = warc.segment_path(0);
        let bytes = std::fs::read(&file).unwrap();
        // Damaged: what is read is no base, and the body is kept whole.
        let mut damaged = bytes.clone();
        damaged[bases[1].stored.offset as usize + 40] ^= 1;
        std::fs::write(&file, damaged).unwrap();
        let made = Makers::default().make(&[order(copy(1), Some(&bases[1]))], &warc);
        let made = made.unwrap().unwrap();
        assert_eq!(kept(&made[0]).packed.base, None);
        assert_eq!(kept(&made[0]).packed.content(None).unwrap().1, copy(1));
        // A directory can be opened, and reading it is an error.
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        let orders = [order(copy(0), Some(&bases[0])), order(copy(0), None)];
        let made = Makers::default().make(&orders, &warc);
        assert!(matches!(
            made,
            Err(Error::Archive(archive::Error::Io { .. }))
        ));
    }

    #[test]
    fn what_a_group_may_read_is_bounded() {
        let place = tempfile::tempdir().unwrap();
        let warc = WarcOptions::new(place.path());
        let length = 60_000;
        let pages: Vec<_> = (1..10).map(|number| page(number, length)).collect();
        let bases = stored(&warc, &pages);
        let read: usize = pages.iter().map(Vec::len).sum();
        assert!(read > MAX_READ, "{read}");
        let copies = pages.iter().zip(&bases);
        let orders: Vec<_> = copies
            .map(|(page, base)| order([&page[..], b"<p>More.</p>"].concat(), Some(base)))
            .collect();
        let made = Makers::default().make(&orders, &warc).unwrap().unwrap();
        let bodies = made.iter().map(kept);
        let deltas: Vec<_> = bodies.filter_map(|it| it.packed.base).collect();
        let bytes: u64 = deltas.iter().map(|base| base.length).sum();
        assert!(!deltas.is_empty() && bytes <= MAX_READ as u64, "{bytes}");
    }
}
