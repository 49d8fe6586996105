/** Something that the palette offers. `run` is an action; everything else is a place. */
export interface PaletteItem {
  key: string;
  kind: PaletteKind;
  label: string;
  /** Beside the label: an image, a data center. */
  detail?: string;
  /** Where it leads; actions have none. */
  to?: string;
  run?: () => void;
  /** Everything it is found by, in lower case. */
  text: string;
}

export type PaletteKind =
  | 'Page'
  | 'Action'
  | 'Endpoint'
  | 'Pod'
  | 'Cluster'
  | 'Build'
  | 'Model'
  | 'Template'
  | 'Secret'
  | 'Volume'
  | 'Registry'
  | 'User'
  | 'Team'
  | 'Key';

/** Something of a record, or done with it: “sdxl logs”, “pause sdxl”. */
export type FollowUp = { label: string } & ({ to: string } | { run: () => void });

/** By kind, what a record may be followed by. */
export type FollowUps = Partial<Record<PaletteKind, (item: PaletteItem) => readonly FollowUp[]>>;

export function paletteItem(
  kind: PaletteKind,
  label: string,
  rest: { to?: string; run?: () => void; id?: string; detail?: string; keywords?: string },
): PaletteItem {
  const { id, keywords, ...shown } = rest;
  const text = [label, id, rest.detail, keywords, kind].filter(Boolean).join(' ').toLowerCase();
  return { key: `${kind} ${id ?? label}`, kind, label, text, ...shown };
}

const MAX_SHOWN = 50;
/** How many of the best matches also offer their parts and actions. */
const MAX_FOLLOWED = 5;
/** Shorter words are too often the beginning of something. */
const MIN_FOLLOW_UP = 2;
/** Best first. */
const SCORES = ['exact', 'start', 'word', 'inside', 'elsewhere'] as const;

/**
 * Returns the items in which every word of `query` occurs, the best first: a whole label or id, then its beginning, then
 * the beginning of a word in it, then any place. Items of equal rank keep their order. Looks at each item once for each
 * way to part the words into a record and what follows it.
 */
export function searchPalette(items: readonly PaletteItem[], query: string, followUps: FollowUps = {}): PaletteItem[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return items.slice(0, MAX_SHOWN);
  return [...followed(items, words, followUps), ...rank(items, words)].slice(0, MAX_SHOWN);
}

function rank(items: readonly PaletteItem[], words: readonly string[]): PaletteItem[] {
  const phrase = words.join(' ');
  const ranked: PaletteItem[][] = SCORES.map(() => []);
  for (const item of items) {
    if (words.every((word) => item.text.includes(word))) ranked[scoreOf(item, phrase, words[0]!)]!.push(item);
  }
  return ranked.flat();
}

function scoreOf(item: PaletteItem, phrase: string, firstWord: string): number {
  const label = item.label.toLowerCase();
  if (label === phrase || item.key.endsWith(` ${phrase}`)) return 0;
  if (label.startsWith(phrase)) return 1;
  const at = label.indexOf(firstWord);
  if (at === -1) return 4;
  return at === 0 || /[\s\-_./]/.test(label[at - 1]!) ? 2 : 3;
}

/** “sdxl lo” leads to the logs of what “sdxl” finds, “roll back sdxl” to its releases: the record's words first or last. */
function followed(items: readonly PaletteItem[], words: readonly string[], of: FollowUps): PaletteItem[] {
  const records = items.filter(({ kind }) => of[kind] !== undefined);
  const found = new Map<string, PaletteItem>();
  for (let at = 1; at < words.length; at++) {
    const [start, end] = [words.slice(0, at), words.slice(at)];
    for (const [record, wanted] of [
      [start, end.join(' ')],
      [end, start.join(' ')],
    ] as const) {
      if (wanted.length < MIN_FOLLOW_UP) continue;
      for (const item of rank(records, record).slice(0, MAX_FOLLOWED)) {
        for (const { label, ...does } of of[item.kind]!(item)) {
          if (!label.toLowerCase().startsWith(wanted)) continue;
          const key = `${item.key} ${label}`;
          const { to: _, ...shown } = item;
          found.set(key, { ...shown, key, label: `${item.label} › ${label}`, ...does });
        }
      }
    }
  }
  return [...found.values()];
}
