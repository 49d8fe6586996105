/** As many as the server answers at once. */
const MAX_IDS = 100;

/** Returns the ids whose known version is not the current one, at most as many as can be asked for. */
export function missingIds(
  ids: readonly string[],
  known: ReadonlyMap<string, string>,
  versionOf: (id: string) => string,
): readonly string[] {
  return ids.filter((id) => known.get(id) !== versionOf(id)).slice(0, MAX_IDS);
}
