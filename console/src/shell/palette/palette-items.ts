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
  | 'User';

/** Tabs that a name may be followed by: “sdxl logs”. */
export type TabsOf = Partial<Record<PaletteKind, readonly { value: string; label: string }[]>>;

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
/** A tab is offered for this many of the best matches. */
const MAX_WITH_TAB = 5;
/** Best first. */
const SCORES = ['exact', 'start', 'word', 'inside', 'elsewhere'] as const;

/**
 * Returns the items in which every word of `query` occurs, the best first: a whole label or id, then its beginning, then
 * the beginning of a word in it, then any place. Items of equal rank keep their order. Looks at each item once.
 */
export function searchPalette(items: readonly PaletteItem[], query: string, tabs: TabsOf = {}): PaletteItem[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return items.slice(0, MAX_SHOWN);
  const found = rank(items, words);
  return [...withTabs(items, words, tabs), ...found].slice(0, MAX_SHOWN);
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

/** “sdxl logs” and “sdxl lo” lead to the logs of what “sdxl” finds. */
function withTabs(items: readonly PaletteItem[], words: readonly string[], tabs: TabsOf): PaletteItem[] {
  const last = words.at(-1)!;
  if (words.length < 2 || last.length < 2) return [];
  const withAny = items.filter(({ kind }) => tabs[kind] !== undefined);
  return rank(withAny, words.slice(0, -1))
    .slice(0, MAX_WITH_TAB)
    .flatMap((item) =>
      tabs[item.kind]!.filter(({ label }) => label.toLowerCase().startsWith(last)).map((tab) => ({
        ...item,
        key: `${item.key} ${tab.value}`,
        label: `${item.label} › ${tab.label}`,
        to: `${item.to}/${tab.value}`,
      })),
    );
}
