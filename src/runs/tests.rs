//! Laws of the whole room: it equals a set of pairs, survives kills and failures, and reports
//! damage.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tempfile::{TempDir, tempdir};

use super::pair::Pair;
use super::*;

const SEEN: usize = 0;
const TABLE: usize = 1;
const STRUCTURES: [(&str, Options); 2] = [
    ("seen", Options { merge_at: 3 }),
    ("table", Options { merge_at: 2 }),
];

type Model = BTreeSet<Pair>;

/// Opens a directory that must be undamaged.
fn open(directory: &Path) -> Catalog {
    let (catalog, damage) = Catalog::open(directory, &STRUCTURES).unwrap();
    assert_eq!(damage, []);
    catalog
}

/// Checks that every kind of look-up returns what the model returns.
fn check(runs: &Runs, model: &Model) {
    check_range(runs, model, 0, u64::MAX);
    let keys: BTreeSet<u64> = model.iter().map(|pair| pair.0).collect();
    assert_eq!(runs.keys_since(0).iter().collect::<BTreeSet<_>>(), keys);
    assert!(runs.len() >= model.len() as u64);
    for key in keys
        .iter()
        .flat_map(|key| [key.wrapping_sub(1), *key, key.wrapping_add(1)])
    {
        check_key(runs, model, key);
    }
}

fn check_key(runs: &Runs, model: &Model, key: u64) {
    let expected: Vec<u64> = model
        .range((key, 0)..=(key, u64::MAX))
        .map(|pair| pair.1)
        .collect();
    let mut found = vec![99];
    runs.find(key, &mut found);
    assert_eq!(found, expected, "values of {key:#x}");
    assert_eq!(
        runs.contains(key),
        !expected.is_empty(),
        "whether there is {key:#x}"
    );
}

fn check_range(runs: &Runs, model: &Model, low: u64, high: u64) {
    let inside = |pair: &&Pair| (low..=high).contains(&pair.0);
    let expected: Vec<Pair> = model.iter().filter(inside).copied().collect();
    let found: Vec<Pair> = runs.pairs(low, high).collect();
    assert_eq!(found, expected, "pairs from {low:#x} to {high:#x}");
    let middle = low / 2 + high / 2;
    for bits in [0, 3, 31] {
        let is_near = |pair: &&Pair| (pair.0 ^ middle).count_ones() <= bits;
        let mut found = Vec::new();
        let halves = [(low, middle), (middle.saturating_add(1), high)];
        runs.near(&halves, middle, bits, |key, value| {
            found.push((key, value));
        });
        found.sort_unstable();
        found.dedup();
        let expected: Vec<Pair> = expected.iter().filter(is_near).copied().collect();
        // Of very many, some are left out.
        match expected.len() {
            0..4_096 => assert_eq!(found, expected, "within {bits} bits"),
            _ => assert!(found.iter().all(|it| expected.binary_search(it).is_ok())),
        }
    }
}

#[derive(Debug, Clone)]
enum Step {
    Insert(usize, Vec<Pair>),
    Checkpoint,
    /// Begins a checkpoint, unless one is in progress.
    Begin,
    /// Finishes it.
    Finish,
    FinishMerges,
    /// Drops the catalog without a checkpoint, which loses what was inserted since the last one.
    Kill,
    Clear(usize),
    Find(usize, u64),
    Range(usize, u64, u64),
}

/// Uniform keys, keys that share all but a few bits, and both ends of the range.
fn key() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        0_u64..40,
        (0_u64..64).prop_map(|bit| 0xdead_beef_0000_0000 ^ (1 << bit)),
        (0_u64..300).prop_map(|low| 0xdead_beef_0000_0000 | low),
        (0_u64..3).prop_map(|below| u64::MAX - below),
    ]
}

fn value() -> impl Strategy<Value = u64> {
    prop_oneof![4 => Just(0), 4 => 0..5_u64, 1 => any::<u32>().prop_map(u64::from), 1 => any::<u64>()]
}

fn step() -> impl Strategy<Value = Step> {
    let structure = 0..STRUCTURES.len();
    let pairs = prop::collection::vec((key(), value()), 1..200);
    prop_oneof![
        8 => (structure.clone(), pairs).prop_map(|(structure, pairs)| Step::Insert(structure, pairs)),
        3 => Just(Step::Checkpoint),
        4 => Just(Step::Begin),
        3 => Just(Step::Finish),
        2 => Just(Step::FinishMerges),
        2 => Just(Step::Kill),
        1 => structure.clone().prop_map(Step::Clear),
        4 => (structure.clone(), key()).prop_map(|(structure, key)| Step::Find(structure, key)),
        4 => (structure, key(), key()).prop_map(|(structure, low, high)| Step::Range(structure, low, high)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn equals_a_set_of_pairs(steps in prop::collection::vec(step(), 1..40)) {
        let directory = tempdir().unwrap();
        let mut catalog = open(directory.path());
        let mut models = [Model::new(), Model::new()];
        let mut durable = (0, models.clone());
        let mut begun = None;
        let mut sequence = 0;
        for step in steps {
            match step {
                Step::Insert(structure, pairs) => {
                    for (key, value) in pairs {
                        catalog[structure].insert(key, value);
                        prop_assert!(!catalog[structure].insert(key, value), "twice is harmless");
                        models[structure].insert((key, value));
                    }
                }
                Step::Checkpoint => {
                    sequence += 1;
                    catalog.checkpoint(sequence).unwrap();
                    durable = (sequence, models.clone());
                    begun = None;
                }
                Step::Begin if begun.is_none() => {
                    sequence += 1;
                    catalog.begin(sequence).unwrap();
                    begun = Some((sequence, models.clone()));
                }
                Step::Begin => {}
                Step::Finish => {
                    catalog.finish().unwrap();
                    durable = begun.take().unwrap_or(durable);
                }
                Step::FinishMerges => catalog.finish_merges().unwrap(),
                Step::Kill => {
                    drop(catalog);
                    catalog = open(directory.path());
                    models.clone_from(&durable.1);
                    begun = None;
                    prop_assert_eq!(catalog.sequence(), durable.0);
                }
                Step::Clear(structure) => {
                    // A checkpoint that is begun and not finished has a test of its own.
                    catalog.finish().unwrap();
                    durable = begun.take().unwrap_or(durable);
                    catalog[structure].clear();
                    catalog[structure].rebuilt();
                    models[structure].clear();
                }
                Step::Find(structure, key) => check_key(&catalog[structure], &models[structure], key),
                Step::Range(structure, low, high) => check_range(&catalog[structure], &models[structure], low, high),
            }
        }
        for (runs, model) in catalog.iter().zip(&models) {
            check(runs, model);
        }
    }
}

/// Returns the files of a directory with their contents.
fn snapshot(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let item = |item: io::Result<fs::DirEntry>| {
        let path = item.unwrap().path();
        (
            path.file_name().unwrap().to_str().unwrap().to_owned(),
            fs::read(&path).unwrap(),
        )
    };
    let mut files: Vec<_> = fs::read_dir(directory).unwrap().map(item).collect();
    files.sort();
    files
}

fn restore(files: &[(String, Vec<u8>)]) -> TempDir {
    let directory = tempdir().unwrap();
    for (name, bytes) in files {
        fs::write(directory.path().join(name), bytes).unwrap();
    }
    directory
}

fn run_files(directory: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|item| item.unwrap().path())
        .collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "run"));
    files.sort();
    files
}

/// Returns evenly spread keys, the same for the same seed (`SplitMix64`).
fn keys(seed: u64, count: u64) -> impl Iterator<Item = u64> {
    (0..count).map(move |index| {
        let mut key = (seed << 32 | index).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        key = (key ^ key >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        key = (key ^ key >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        key ^ key >> 31
    })
}

/// Returns a directory after `checkpoints` checkpoints, each with new pairs in both structures, and
/// its models.
fn filled(checkpoints: u64) -> (TempDir, [Model; 2]) {
    let directory = tempdir().unwrap();
    let mut catalog = open(directory.path());
    let mut models = [Model::new(), Model::new()];
    for sequence in 1..=checkpoints {
        insert(&mut catalog, &mut models, sequence);
        catalog.checkpoint(sequence).unwrap();
        catalog.finish_merges().unwrap();
    }
    drop(catalog);
    // Removes what the last merge wrote too late for a checkpoint.
    drop(open(directory.path()));
    (directory, models)
}

fn insert(catalog: &mut Catalog, models: &mut [Model; 2], seed: u64) {
    for key in keys(seed, 300) {
        for (structure, value) in [(SEEN, 0), (TABLE, key >> 40)] {
            assert!(catalog[structure].insert(key, value));
            models[structure].insert((key, value));
        }
    }
}

#[test]
fn merges_keep_everything_and_leave_few_files() {
    let (directory, models) = filled(20);
    let mut catalog = open(directory.path());
    for (runs, model) in catalog.iter().zip(&models) {
        check(runs, model);
        assert!(runs.file_count() <= 4, "{} files", runs.file_count());
        assert_eq!(runs.len(), model.len() as u64, "nothing is stored twice");
    }
    catalog.checkpoint(21).unwrap();
    let listed = catalog.iter().map(Runs::file_count).sum::<usize>();
    catalog.finish_merges().unwrap();
    drop(catalog);
    drop(open(directory.path()));
    assert_eq!(
        run_files(directory.path()).len(),
        listed,
        "replaced files are gone"
    );
}

#[test]
fn what_is_retired_is_gone_after_a_purge_and_nothing_else_is() {
    let directory = tempdir().unwrap();
    let mut catalog = open(directory.path());
    for value in 0..1_000 {
        catalog[SEEN].insert(value, value);
        catalog[TABLE].insert(value % 7, value);
        if value % 300 == 0 {
            catalog.checkpoint(value).unwrap();
        }
    }
    let size = |catalog: &Catalog| catalog[TABLE].mapped_bytes();
    catalog.checkpoint(1_000).unwrap();
    let before = size(&catalog);
    catalog.retire(TABLE, (0..1_000).filter(|value| value % 10 != 0));
    catalog.purge();
    for sequence in 1_001..1_003 {
        catalog.checkpoint(sequence).unwrap();
        catalog.finish_merges().unwrap();
    }
    catalog.checkpoint(1_003).unwrap();
    let is_kept = |catalog: &Catalog, value: u64| {
        let mut found = Vec::new();
        catalog[TABLE].find(value % 7, &mut found);
        found.contains(&value)
    };
    assert!(size(&catalog) < before / 5, "{before}");
    drop(catalog);
    let mut catalog = open(directory.path());
    for value in 0..1_000 {
        assert_eq!(is_kept(&catalog, value), value % 10 == 0, "{value}");
        assert!(catalog[SEEN].contains(value), "not one that retires");
    }
    // All of it; an empty file is a valid file.
    catalog.retire(TABLE, 0..1_000);
    catalog.purge();
    for sequence in 1_004..1_007 {
        catalog.checkpoint(sequence).unwrap();
        catalog.finish_merges().unwrap();
    }
    drop(catalog);
    let mut catalog = open(directory.path());
    assert!((0..1_000).all(|value| !is_kept(&catalog, value)));
    catalog[TABLE].insert(1_003 % 7, 1_003);
    catalog.checkpoint(1_007).unwrap();
    assert!(is_kept(&catalog, 1_003));
}

#[test]
fn what_is_inserted_after_a_checkpoint_has_begun_belongs_to_the_next() {
    let directory = tempdir().unwrap();
    let mut catalog = open(directory.path());
    let insert = |catalog: &mut Catalog, numbers: std::ops::Range<u64>| {
        numbers.for_each(|number| {
            catalog[SEEN].insert(number, 0);
        });
    };
    let holds = |catalog: &Catalog, end: u64| {
        let found = (0..1_000).filter(|number| catalog[SEEN].contains(*number));
        assert!(found.eq(0..end), "the first {end}");
    };
    insert(&mut catalog, 0..100);
    catalog.begin(1).unwrap();
    insert(&mut catalog, 100..200);
    holds(&catalog, 200);
    catalog.finish().unwrap();
    holds(&catalog, 200);
    assert_eq!(catalog[SEEN].len_since(1), 100);
    catalog.begin(2).unwrap();
    // The file may be written or not: without the manifest it does not count.
    drop(catalog);
    let mut catalog = open(directory.path());
    assert_eq!(catalog.sequence(), 1);
    holds(&catalog, 100);

    insert(&mut catalog, 100..300);
    catalog.begin(2).unwrap();
    catalog[SEEN].clear();
    catalog[SEEN].rebuilt();
    insert(&mut catalog, 0..50);
    catalog.finish().unwrap();
    holds(&catalog, 50);
    drop(catalog);
    let (mut catalog, damage) = Catalog::open(directory.path(), &STRUCTURES).unwrap();
    let names: Vec<_> = damage.iter().map(|it| it.name).collect();
    assert_eq!(names, ["seen"], "half a rebuild is none");
    insert(&mut catalog, 0..50);
    catalog[SEEN].rebuilt();
    catalog.checkpoint(3).unwrap();
    drop(catalog);
    holds(&open(directory.path()), 50);
}

#[test]
fn only_files_with_something_newer_are_read_again() {
    let directory = tempdir().unwrap();
    let mut catalog = open(directory.path());
    for sequence in 1..=4 {
        catalog[SEEN].insert(sequence, 0);
        catalog.checkpoint(sequence).unwrap();
        catalog.finish_merges().unwrap();
    }
    let since = |catalog: &Catalog, sequence| {
        let keys: BTreeSet<u64> = catalog[SEEN].keys_since(sequence).iter().collect();
        assert!(keys.len() as u64 <= catalog[SEEN].len_since(sequence));
        keys.into_iter().collect::<Vec<_>>()
    };
    // Three files of a tier were merged at the fourth checkpoint.
    for _ in 0..2 {
        assert_eq!(since(&catalog, 0), [1, 2, 3, 4]);
        assert_eq!(since(&catalog, 2), [1, 2, 3, 4]);
        assert_eq!(since(&catalog, 3), [4]);
        assert_eq!(since(&catalog, 4), [0_u64; 0]);
        drop(catalog);
        catalog = open(directory.path());
    }
}

#[test]
fn large_files_are_found_through_their_fence() {
    let directory = tempdir().unwrap();
    let mut catalog = open(directory.path());
    // Uniform keys, a dense block, and a staircase, on which interpolation guesses wrong each time.
    let staircase = (0..60).flat_map(|bit| (0..200).map(move |low| (1_u64 << bit) + low));
    let all: Model = keys(1, 50_000)
        .chain(7_000_000..7_020_000)
        .chain(staircase)
        .map(|key| (key, 0))
        .collect();
    for &(key, value) in &all {
        catalog[SEEN].insert(key, value);
    }
    catalog.checkpoint(1).unwrap();
    check(&catalog[SEEN], &all);
    drop(catalog);
    let catalog = open(directory.path());
    check(&catalog[SEEN], &all);
    assert!(
        catalog[SEEN].mapped_bytes() < 8 * all.len() as u64 + 100,
        "a set has no values on disk"
    );
}

#[test]
fn a_kill_leaves_the_old_state_or_the_new_one() {
    let (directory, old) = filled(4);
    let before = snapshot(directory.path());
    let mut catalog = open(directory.path());
    let mut new = old.clone();
    insert(&mut catalog, &mut new, 5);
    catalog.checkpoint(5).unwrap();
    catalog.finish_merges().unwrap();
    drop(catalog);
    let after = snapshot(directory.path());

    let is_manifest = |file: &&(String, Vec<u8>)| file.0 == "manifest";
    let old_manifest = before.iter().find(is_manifest).unwrap().clone();
    let new_manifest = after.iter().find(is_manifest).unwrap().clone();
    assert_ne!(old_manifest, new_manifest);
    // All files of both states, as they are on disk around the rename.
    let mut both: Vec<_> = before
        .iter()
        .chain(&after)
        .filter(|file| !is_manifest(file))
        .cloned()
        .collect();
    both.sort();
    both.dedup();

    let check_state = |files: &[(String, Vec<u8>)], sequence, models: &[Model; 2]| {
        let directory = restore(files);
        for _ in 0..2 {
            let mut catalog = open(directory.path());
            assert_eq!(catalog.sequence(), sequence);
            for (runs, model) in catalog.iter().zip(models) {
                check(runs, model);
            }
            // Replaying what was lost, and the checkpoint after that, meet no leftovers.
            insert(&mut catalog, &mut [Model::new(), Model::new()], 5);
            drop(catalog);
        }
        let listed = open(directory.path())
            .iter()
            .map(Runs::file_count)
            .sum::<usize>();
        assert_eq!(
            run_files(directory.path()).len(),
            listed,
            "leftovers are removed"
        );
    };
    let with = |manifest: &(String, Vec<u8>)| [&both[..], std::slice::from_ref(manifest)].concat();
    // While files are written: whole ones, half a file, and half a staged manifest.
    let mut files = with(&old_manifest);
    check_state(&files, 4, &old);
    files.push(("seen-999.run".to_owned(), vec![7; 100]));
    files.push(("manifest.tmp".to_owned(), new_manifest.1[..20].to_vec()));
    check_state(&files, 4, &old);
    // After the rename, before the replaced files are unlinked.
    check_state(&with(&new_manifest), 5, &new);
    check_state(&before, 4, &old);
    check_state(&after, 5, &new);
}

/// Harms the largest file of `seen`. The damage must be reported, `table` must stay intact, and
/// this must be so until `seen` is rebuilt.
fn check_damage(harm: impl Fn(&Path)) {
    let (directory, models) = filled(5);
    let mut files = run_files(directory.path());
    files.retain(|path| {
        path.file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .starts_with("seen")
    });
    let harmed = files
        .into_iter()
        .max_by_key(|path| fs::metadata(path).unwrap().len())
        .unwrap();
    harm(&harmed);
    let open_damaged = || {
        let (catalog, damage) = Catalog::open(directory.path(), &STRUCTURES).unwrap();
        assert_eq!(damage.len(), 1, "{damage:?}");
        assert_eq!(
            (damage[0].structure, damage[0].name, &damage[0].path),
            (SEEN, "seen", &harmed)
        );
        check(&catalog[SEEN], &Model::new());
        check(&catalog[TABLE], &models[TABLE]);
        assert!(!catalog[SEEN].is_complete() && catalog[TABLE].is_complete());
        assert_eq!(catalog.sequence(), 5, "the others need no replay");
        catalog
    };
    drop(open_damaged());
    let mut catalog = open_damaged();
    for &(key, value) in &models[SEEN] {
        catalog[SEEN].insert(key, value);
    }
    catalog[SEEN].rebuilt();
    catalog.checkpoint(6).unwrap();
    drop(catalog);
    let catalog = open(directory.path());
    for (runs, model) in catalog.iter().zip(&models) {
        check(runs, model);
    }
}

#[test]
fn a_flipped_bit_anywhere_is_reported() {
    for position in [0, 9, 13, 17, 25, 33, 50, 64, 71, 500, 1000] {
        check_damage(|path| {
            let mut bytes = fs::read(path).unwrap();
            bytes[position] ^= 0x10;
            fs::write(path, bytes).unwrap();
        });
    }
    check_damage(|path| {
        let mut bytes = fs::read(path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(path, bytes).unwrap();
    });
}

#[test]
fn a_file_cut_off_grown_gone_or_exchanged_is_reported() {
    for length in [0, 10, 64, 70, 1000] {
        check_damage(|path| fs::write(path, &fs::read(path).unwrap()[..length]).unwrap());
    }
    check_damage(|path| fs::write(path, [fs::read(path).unwrap(), vec![0; 8]].concat()).unwrap());
    check_damage(|path| fs::remove_file(path).unwrap());
    check_damage(|path| {
        let others = run_files(path.parent().unwrap());
        let other = others.iter().find(|other| *other != path).unwrap();
        fs::copy(other, path).unwrap();
    });
}

#[test]
fn a_damaged_or_missing_manifest_is_reported_until_all_is_rebuilt() {
    let harms: [fn(&Path); 2] = [
        |manifest| fs::write(manifest, "gleaner").unwrap(),
        |manifest| fs::remove_file(manifest).unwrap(),
    ];
    for harm in harms {
        let (directory, models) = filled(3);
        harm(&directory.path().join("manifest"));
        for _ in 0..2 {
            let (catalog, damage) = Catalog::open(directory.path(), &STRUCTURES).unwrap();
            assert_eq!(
                damage.iter().map(|damage| damage.name).collect::<Vec<_>>(),
                ["seen", "table"]
            );
            assert_eq!(
                (
                    catalog.sequence(),
                    catalog[SEEN].len(),
                    catalog[TABLE].len()
                ),
                (0, 0, 0)
            );
        }
        let (mut catalog, _) = Catalog::open(directory.path(), &STRUCTURES).unwrap();
        catalog[SEEN].insert(1, 0);
        catalog.checkpoint(4).unwrap();
        drop(catalog);
        let (mut catalog, damage) = Catalog::open(directory.path(), &STRUCTURES).unwrap();
        assert_eq!(
            damage.len(),
            2,
            "a checkpoint alone does not make a structure whole"
        );
        for (runs, model) in catalog.iter_mut().zip(&models) {
            for &(key, value) in model {
                runs.insert(key, value);
            }
            runs.rebuilt();
        }
        catalog.checkpoint(5).unwrap();
        assert_eq!(
            run_files(directory.path()).len(),
            2,
            "the files of before are gone"
        );
        drop(catalog);
        check(&open(directory.path())[TABLE], &models[TABLE]);
    }
}

#[test]
fn a_structure_that_is_new_to_an_old_directory_is_reported() {
    let directory = tempdir().unwrap();
    drop(Catalog::open(directory.path(), &STRUCTURES[..1]).unwrap());
    let (_, damage) = Catalog::open(directory.path(), &STRUCTURES).unwrap();
    assert_eq!(
        damage
            .iter()
            .map(|damage| damage.structure)
            .collect::<Vec<_>>(),
        [TABLE]
    );
}

#[test]
fn a_failed_checkpoint_loses_nothing_and_can_be_repeated() {
    let (directory, mut models) = filled(4);
    let mut catalog = open(directory.path());
    insert(&mut catalog, &mut models, 5);
    let files = run_files(directory.path());
    // A directory in place of the staged manifest makes writing it fail, also for root.
    let obstacle = directory.path().join("manifest.tmp");
    fs::create_dir(&obstacle).unwrap();
    for _ in 0..2 {
        let error = catalog.checkpoint(5).unwrap_err();
        assert!(error.to_string().contains("manifest.tmp"), "{error}");
        assert_eq!(catalog.sequence(), 4);
        assert_eq!(
            run_files(directory.path()),
            files,
            "no space is lost to half a checkpoint"
        );
        check(&catalog[TABLE], &models[TABLE]);
    }
    fs::remove_dir(&obstacle).unwrap();
    catalog.checkpoint(5).unwrap();
    check(&catalog[TABLE], &models[TABLE]);
    drop(catalog);
    check(&open(directory.path())[TABLE], &models[TABLE]);
}

#[test]
fn a_failed_merge_is_told_once_and_tried_again() {
    let (directory, mut models) = filled(0);
    let mut catalog = open(directory.path());
    // The first two checkpoints use the numbers 1 to 4, so the first merge will want to write 5.
    let obstacle = directory.path().join("table-5.run");
    fs::create_dir(&obstacle).unwrap();
    for sequence in 1..=2 {
        insert(&mut catalog, &mut models, sequence);
        catalog.checkpoint(sequence).unwrap();
    }
    insert(&mut catalog, &mut models, 3);
    let error = catalog
        .finish_merges()
        .and_then(|()| catalog.checkpoint(3))
        .unwrap_err();
    assert!(error.to_string().contains("table-5.run"), "{error}");
    check(&catalog[TABLE], &models[TABLE]);
    fs::remove_dir(&obstacle).unwrap();
    for sequence in 3..=4 {
        catalog.checkpoint(sequence).unwrap();
        catalog.finish_merges().unwrap();
    }
    check(&catalog[TABLE], &models[TABLE]);
    assert_eq!(catalog[TABLE].file_count(), 1);
}

#[test]
fn a_full_disk_is_recognized() {
    let error = |kind: io::ErrorKind| Error::io("write", Path::new("seen-1.run"))(kind.into());
    assert!(error(io::ErrorKind::StorageFull).is_full_disk());
    assert!(!error(io::ErrorKind::PermissionDenied).is_full_disk());
}

/// Whatever a stranger puts under one key, or under keys that are almost equal, searches stay short
/// and find what is near besides.
#[test]
fn a_search_for_near_keys_is_bounded_by_key_and_by_range() {
    let directory = tempfile::tempdir().unwrap();
    let names = [("simhash", Options::default())];
    let (mut catalog, _) = Catalog::open(directory.path(), &names).unwrap();
    let (flood, honest) = (0x1234_0000_0000_0000_u64, 0x1234_0000_0000_0003);
    for value in 1..=2_000 {
        catalog[0].insert(flood, value);
    }
    catalog[0].insert(honest, 9_999);
    let near = |catalog: &Catalog, bits| {
        let mut found = Vec::new();
        let range = (flood, flood | (u64::MAX >> 16));
        catalog[0].near(&[range], flood, bits, |key, value| found.push((key, value)));
        found
    };
    for is_written in [false, true] {
        if is_written {
            catalog.checkpoint(1).unwrap();
        }
        let found = near(&catalog, 7);
        assert_eq!(found.len(), 257);
        assert!(found.contains(&(honest, 9_999)));
        assert!(
            found.contains(&(flood, 1)) && found.contains(&(flood, 256)),
            "the oldest"
        );
    }
    // Each with a key of its own.
    for number in 0..10_000_u64 {
        catalog[0].insert(flood | number << 16, 1);
    }
    assert!(near(&catalog, 48).len() <= 257 + 4_096);
}
