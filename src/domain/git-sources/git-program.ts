/** The oldest git that connects to the one address that was allowed, whatever a name stands for by then (`http.curloptResolve`). */
const OLDEST = [2, 37] as const;

/** Returns what is wrong with a git, by what `git --version` prints, to follow "the server's git"; null: it will do. */
export function findGitFault(printed: string): string | null {
  const [, version, major, minor] = /^git version ((\d+)\.(\d+)\S*)/.exec(printed) ?? [];
  const needed = `Podyard needs ${OLDEST.join('.')} or newer`;
  if (version === undefined) return `does not say its version, and ${needed}`;
  const isOld = Number(major) < OLDEST[0] || (Number(major) === OLDEST[0] && Number(minor) < OLDEST[1]);
  return isOld ? `has version ${version}, and ${needed}` : null;
}
