//! A copy of the working tree, to which patches are applied.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::cmd::{Cmd, Result, failure, how, root};

/// The copy. It is kept between runs, so that builds in it are short.
#[derive(Debug)]
pub(crate) struct Tree {
    dir: PathBuf,
}

impl Tree {
    /// Makes `dir` equal to the working tree: to the files that git tracks or would track. Files without a change keep
    /// their times.
    pub(crate) fn copy_to(dir: &Path) -> Result<Self> {
        fs::create_dir_all(dir).map_err(cannot("create", dir))?;
        let tree = Self { dir: dir.canonicalize().map_err(cannot("find", dir))? };
        let files = listed()?;
        for file in &files {
            tree.update(file)?;
        }
        tree.sweep(&tree.dir, &files)?;
        Ok(tree)
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Applies a patch, runs `judge` in the broken copy, and reverts the patch.
    pub(crate) fn with_patch<T>(
        &self,
        patch: &Path,
        touches: &[PathBuf],
        judge: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let files = touches.iter().map(|file| self.dir.join(file));
        let whole: Vec<_> = files.map(|file| (fs::read(&file).ok(), file)).collect();
        let judged = self.apply(patch).and_then(|()| judge());
        for (bytes, file) in whole {
            set(&file, bytes)?;
        }
        judged
    }

    /// Runs `git apply`, without the repository around the copy.
    fn apply(&self, patch: &Path) -> Result {
        let patch = root().join(patch);
        let apply = Cmd::new("git", ["apply".as_ref(), "--whitespace=nowarn".as_ref(), patch.as_os_str()]);
        let (mut command, _) = apply.current_dir(&self.dir).into_parts();
        let outside = self.dir.parent().unwrap_or(&self.dir);
        command.env("GIT_CEILING_DIRECTORIES", outside);
        command.env_remove("GIT_DIR").env_remove("GIT_WORK_TREE").env_remove("GIT_INDEX_FILE");
        let output = command.output().map_err(cannot("run git in", &self.dir))?;
        if output.status.success() {
            return Ok(());
        }
        let why = String::from_utf8_lossy(&output.stderr);
        Err(failure(format!("does not apply: {}", why.trim())))
    }

    /// Makes one file of the copy equal to that in the working tree.
    fn update(&self, file: &Path) -> Result {
        let (from, to) = (root().join(file), self.dir.join(file));
        let wanted = match fs::read(&from) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(cannot("read", &from)(error)),
        };
        let gone = wanted.is_none();
        set(&to, wanted)?;
        if gone {
            return Ok(());
        }
        let mode = fs::metadata(&from).map_err(cannot("read", &from))?.permissions();
        if mode.readonly() {
            return Ok(()); // the copy must stay writable
        }
        fs::set_permissions(&to, mode).map_err(cannot("write", &to))
    }

    /// Removes files that are no longer in the working tree.
    fn sweep(&self, dir: &Path, files: &BTreeSet<PathBuf>) -> Result {
        for entry in fs::read_dir(dir).map_err(cannot("list", dir))? {
            let path = entry.map_err(cannot("list", dir))?.path();
            if path.is_dir() && !path.is_symlink() {
                self.sweep(&path, files)?;
            } else if !path.strip_prefix(&self.dir).is_ok_and(|file| files.contains(file)) {
                fs::remove_file(&path).map_err(cannot("remove", &path))?;
            }
        }
        Ok(())
    }
}

/// Writes these bytes to a file, or removes it. The file keeps its time if nothing changes.
pub(crate) fn set(file: &Path, wanted: Option<Vec<u8>>) -> Result {
    let found = fs::read(file).ok();
    if wanted == found {
        return Ok(());
    }
    let Some(bytes) = wanted else {
        return fs::remove_file(file).map_err(cannot("remove", file));
    };
    let parent = file.parent().unwrap_or(file);
    fs::create_dir_all(parent).map_err(cannot("create", parent))?;
    fs::write(file, bytes).map_err(cannot("write", file))
}

/// The files of the working tree that git tracks, and new ones that it would track.
fn listed() -> Result<BTreeSet<PathBuf>> {
    let args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let (mut command, shown) = Cmd::new("git", args).into_parts();
    let output = command.output().map_err(|error| failure(format!("`{shown}`: {error}")))?;
    if !output.status.success() {
        return Err(failure(format!("`{shown}` failed: {}", how(output.status))));
    }
    let names =
        String::from_utf8(output.stdout).map_err(|error| failure(format!("a file name is not UTF-8: {error}")))?;
    let names = names.split('\0').filter(|name| !name.is_empty());
    Ok(names.map(PathBuf::from).filter(|file| root().join(file).is_file()).collect())
}

pub(crate) fn cannot(what: &str, path: &Path) -> impl FnOnce(io::Error) -> crate::cmd::Failure {
    move |error| failure(format!("cannot {what} {}: {error}", path.display()))
}
