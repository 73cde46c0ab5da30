//! Packages that are not finished.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;

use super::zip_file::Package;

#[test]
fn a_package_has_its_name_when_it_is_whole() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.wacz");
    let names = || {
        let names = fs::read_dir(directory.path()).unwrap();
        let names = names.map(|it| it.unwrap().file_name().into_string().unwrap());
        names.collect::<Vec<_>>()
    };
    let begin = || {
        let mut package = Package::create(&path).unwrap();
        let added = package.add("a", true, |out| {
            out.write_all(b"a").unwrap();
            Ok(())
        });
        added.unwrap();
        package
    };
    let package = begin();
    assert_eq!(names(), ["a.wacz.part"]);
    drop(package);
    assert_eq!(names(), [""; 0]);
    let written = begin().finish(None, None, &BTreeSet::new()).unwrap();
    assert_eq!(names(), ["a.wacz"]);
    assert_eq!(written.bytes, fs::metadata(&path).unwrap().len());
    assert!(Package::create(&path).is_err());
    assert_eq!(names(), ["a.wacz"]);
}
