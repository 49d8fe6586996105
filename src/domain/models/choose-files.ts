/** `*` stands for any characters, also `/`, `?` for one; a folder with `/` at its end for all in it: as huggingface_hub. */

interface Patterns {
  /** Absent: all files. */
  include?: readonly string[];
  exclude?: readonly string[];
}

/** Returns the files that one pattern of `include` and none of `exclude` matches. */
export function chooseFiles<T extends { path: string }>(files: readonly T[], { include, exclude = [] }: Patterns): T[] {
  return files.filter(
    ({ path }) =>
      (include === undefined || include.some((one) => matches(path, one))) &&
      !exclude.some((one) => matches(path, one)),
  );
}

/** True if the whole path matches. Takes at most `path.length * pattern.length` steps. */
export function matches(path: string, pattern: string): boolean {
  const wanted = pattern.endsWith('/') ? `${pattern}*` : pattern;
  let [at, in_] = [0, 0];
  let [star, from] = [-1, 0]; // the last `*`, and how far it has eaten
  while (at < path.length) {
    if (wanted[in_] === '*') [star, from, in_] = [in_, at, in_ + 1];
    else if (in_ < wanted.length && (wanted[in_] === '?' || wanted[in_] === path[at])) [at, in_] = [at + 1, in_ + 1];
    else if (star >= 0) [from, at, in_] = [from + 1, from + 1, star + 1];
    else return false;
  }
  while (wanted[in_] === '*') in_ += 1;
  return in_ === wanted.length;
}
