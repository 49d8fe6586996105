/**
 * The site's search. A page loads it, with the index, when somebody begins to search; the build uses it to make the index. The
 * index holds what a word weighs in each section, so that a search adds numbers up and needs no text.
 */
export interface SearchIndex {
  sections: readonly IndexedSection[];
  /** By stem: pairs of a section's position, as the distance from the one before, and the stem's weight in it. */
  stems: Record<string, number[]>;
}

export interface IndexedSection {
  href: string;
  page: string;
  /** Empty for the beginning of a page. */
  heading: string;
  /** The section's first words. */
  lead: string;
}

const MAX_HITS = 12;
const MAX_HITS_OF_PAGE = 3;
/** The weight of a word that was not typed itself: another word for it, one that begins with it, one that is a letter off. */
const OTHER_WORD = 0.7;
const LONGER_WORD = 0.6;
const MISTYPED = 0.5;

const STOP_WORDS = new Set(
  `a about after all also am an and any are as at be been but by can cannot could did do does doesnt dont for from get gets
   give go had has have how i if in into is it its just keep let lets like make many me more much must my need not of off on one
   or our out over own please put same see set should show so some still take tell than that the their them then there these
   they this to too up us use used uses using very want was way we were what when where which while who whose why will with
   without work works would you your`.split(/\s+/),
);

/** Words that people use, and the words of the pages for the same. */
const OTHER_WORDS: Record<string, string> = {
  account: 'user',
  add: 'create',
  admin: 'user',
  bill: 'cost billing',
  bring: 'import move',
  broke: 'error fail',
  broken: 'error fail',
  buy: 'cost',
  certificate: 'tls',
  charge: 'cost',
  chat: 'openai',
  call: 'request',
  cheap: 'cost',
  credential: 'registry key',
  crash: 'fail crash',
  colleague: 'team',
  db: 'database postgresql',
  delete: 'remove',
  disk: 'storage volume',
  dollar: 'cost price',
  done: 'completed end',
  down: 'unreachable',
  env: 'environment variable',
  expensive: 'cost',
  fast: 'latency speed',
  forever: 'stuck wait',
  forgot: 'lost',
  frozen: 'freeze flashboot',
  github: 'git',
  gitlab: 'git',
  google: 'provider',
  hang: 'stuck wait',
  helm: 'kubernete chart',
  history: 'audit',
  https: 'tls',
  huggingface: 'model',
  initializing: 'start worker',
  install: 'setup',
  invoice: 'cost billing',
  kept: 'retention keep',
  k8: 'kubernete',
  lambda: 'serverless endpoint',
  laptop: 'machine',
  limit: 'quota',
  llm: 'model openai',
  login: 'sign',
  lost: 'lose',
  mac: 'macos',
  missing: 'shortage unavailable',
  money: 'cost price',
  monitor: 'metric alert',
  new: 'create',
  node: 'machine',
  notebook: 'jupyter',
  nvidia: 'gpu',
  oauth: 'provider sign',
  oidc: 'provider sign',
  password: 'secret key',
  pay: 'cost price',
  pending: 'wait queue',
  permission: 'scope role',
  postgres: 'postgresql database',
  price: 'cost',
  remove: 'delete',
  restart: 'start',
  revert: 'roll back rollback',
  rollback: 'roll back',
  runpod: 'cloud',
  s3: 'file',
  scale: 'worker',
  server: 'machine',
  setting: 'configuration option',
  share: 'team shared',
  slack: 'alert webhook',
  slow: 'latency cold wait',
  socket: 'websocket',
  sso: 'provider sign',
  ssl: 'tls',
  stop: 'cancel end',
  stuck: 'wait start',
  team: 'share',
  throttled: 'capacity',
  token: 'key',
  trained: 'training',
  typescript: 'javascript',
  undo: 'roll back',
  uninstall: 'remove',
  update: 'upgrade release',
  upgrade: 'update version',
  version: 'upgrade release',
  warm: 'minimum idle',
};

/** Returns a text's words, lower case, without endings; names such as `IN_QUEUE` and `idleTimeout` whole and in parts. */
export function stemsOf(text: string): string[] {
  return (text.match(/[\p{L}\p{N}_]+/gu) ?? []).flatMap((word) => {
    const parts = word.split(/_|(?<=[a-z])(?=[A-Z])/).filter(Boolean);
    return (parts.length > 1 ? [word, ...parts] : parts).map((part) => stemOf(part.toLowerCase()));
  });
}

function stemOf(word: string): string {
  if (word.length < 4) return word;
  const singular = word.replace(/ies$/, 'y').replace(/([^su]|[cg]pu)s$/, '$1');
  const stem = singular.replace(/(?:ations?|ments?|ings?|ed)$/, '');
  if (stem.length < 3 || !/[aeiouy]/.test(stem)) return singular;
  return stem.replace(/([bdglmnprt])\1$/, '$1').replace(/e$/, '');
}

/** True for a word that says nothing about what is searched. */
export function isStopWord(stem: string): boolean {
  return STOPPED.has(stem);
}

const STOPPED = new Set([...STOP_WORDS].flatMap((word) => [word, ...stemsOf(word)]));
const ALTERNATIVES = new Map(Object.entries(OTHER_WORDS).map(([word, others]) => [stemOf(word), stemsOf(others)]));

/** Returns the sections that answer a question best, the best first. The last word may be the beginning of one. */
export function search(index: SearchIndex, question: string): IndexedSection[] {
  const all = stemsOf(question.replaceAll(/['’]/g, ''));
  const told = all.filter((stem) => !STOPPED.has(stem));
  const stems = [...new Set(told.length > 0 ? told : all)];
  const scores = new Float64Array(index.sections.length);
  const found = new Uint8Array(index.sections.length);
  stems.forEach((stem, i) => {
    const isLast = i === stems.length - 1 && /[\p{L}\p{N}]$/u.test(question);
    for (const [section, weight] of weightsOf(index, stem, isLast)) {
      scores[section]! += weight;
      found[section]!++;
    }
  });
  const ranked = [...scores.keys()]
    .filter((section) => scores[section]! > 0)
    .map((section) => ({ section, score: scores[section]! * (found[section]! / stems.length) }))
    .sort((a, b) => b.score - a.score || a.section - b.section)
    .map(({ section }) => index.sections[section]!);
  const ofPage = new Map<string, number>();
  return ranked
    .filter(({ page }) => {
      const before = ofPage.get(page) ?? 0;
      ofPage.set(page, before + 1);
      return before < MAX_HITS_OF_PAGE;
    })
    .slice(0, MAX_HITS);
}

/** Returns the best weight of a word, or of one that stands for it, in each section. */
function weightsOf(index: SearchIndex, stem: string, isLast: boolean): Map<number, number> {
  const best = new Map<number, number>();
  const add = (postings: readonly number[] | undefined, worth: number) => {
    for (let i = 0, section = 0; postings && i < postings.length; i += 2) {
      section += postings[i]!;
      best.set(section, Math.max(best.get(section) ?? 0, postings[i + 1]! * worth));
    }
  };
  const known = (word: string) => (Object.hasOwn(index.stems, word) ? index.stems[word] : undefined);
  add(known(stem), 1);
  for (const other of ALTERNATIVES.get(stem) ?? []) add(known(other), OTHER_WORD);
  if (isLast && stem.length > 1) {
    for (const word of Object.keys(index.stems)) {
      if (word !== stem && word.startsWith(stem)) add(index.stems[word], LONGER_WORD);
    }
  }
  if (best.size === 0 && stem.length > 3) {
    for (const word of Object.keys(index.stems)) if (isOneOff(stem, word)) add(index.stems[word], MISTYPED);
  }
  return best;
}

/** True if two words differ in a letter that is added, missing, another one, or swapped with the next. */
function isOneOff(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start++;
  const [restA, restB] = [a.slice(start), b.slice(start)];
  if (restA.slice(1) === restB || restA === restB.slice(1) || restA.slice(1) === restB.slice(1)) return true;
  return restA.slice(2) === restB.slice(2) && restA[0] === restB[1] && restA[1] === restB[0];
}
