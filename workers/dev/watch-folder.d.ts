/** Watches a folder and all in it. Returns what ends it. */
export function watchFolder(
  root: string,
  options: {
    /** True for paths of what others write, such as packages. Paths are those in the folder. */
    isForeign: (path: string) => boolean;
    /** Called with what was written, replaced or removed; perhaps several times for one change. */
    onChange: (path: string) => void;
    /** Some changes can't be seen. */
    onError: (error: Error) => void;
  },
): () => void;
