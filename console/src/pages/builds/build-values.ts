import { ApiError, messageOf } from '../../api/api-error.ts';
import type { Schemas } from '../../api/client.ts';
import { plainText } from '../../ui/logs/log-record.ts';
import type { StatusLook } from '../../ui/text/labels.ts';

export type Build = Schemas['Build'];
export type BuildStatus = Build['status'];
export type BuildStep = Build['steps'][number];

export const BUILD_STATUSES = {
  QUEUED: { label: 'Queued', color: 'gray' },
  BUILDING: { label: 'Building', color: 'blue' },
  PUSHING: { label: 'Pushing', color: 'blue' },
  COMPLETED: { label: 'Completed', color: 'green' },
  FAILED: { label: 'Failed', color: 'red' },
  CANCELLED: { label: 'Cancelled', color: 'gray' },
} as const satisfies Record<BuildStatus, StatusLook>;

const SOURCES: Readonly<Record<string, string>> = { UPLOAD: 'Folder', GIT: 'Git' };

export function sourceOf({ source: { type } }: Build): string {
  return SOURCES[type] ?? type;
}

export function hasEnded({ endedAt }: Pick<Build, 'endedAt'>): boolean {
  return endedAt !== null;
}

/** Returns the builds of a status, and how many builds each status has, in the order of `BUILD_STATUSES`. */
export function byStatus(
  builds: readonly Build[],
  chosen: string,
): { found: readonly Build[]; counts: { status: BuildStatus; count: number }[] } {
  const counts = (Object.keys(BUILD_STATUSES) as BuildStatus[])
    .map((status) => ({ status, count: builds.filter((build) => build.status === status).length }))
    .filter(({ status, count }) => count > 0 || status === chosen);
  return { found: chosen === '' ? builds : builds.filter(({ status }) => status === chosen), counts };
}

export interface BuildFailure {
  /** The line of output that says most; without output, the sentence. */
  line: string;
  /** Which step failed and how; null if `line` says it. */
  sentence: string | null;
  /** The last lines of output; may be empty. */
  output: string;
}

/** Lines that programs print below the one that says why they failed. */
const NOISE = /^(\[notice\]|npm (notice|warn)|npm error A complete log of this run|note: )|^\s*$/i;
const MAX_SENTENCE = 280;
const TELLING =
  /error|exception|failed|fatal|cannot|can't|could not|not found|not in|no such|no matching|denied|unknown/i;
/** All lines of npm about an error begin so, also its advice. */
const NPM = /^npm error (?:code |notarget |404 )?/;

/** Splits the reason of a build that failed. Output is as a terminal leaves it. */
export function failureOf(reason: string): BuildFailure {
  const [, sentence, output] = /^(.*?)(?: Its last lines)?:\n(.*)$/s.exec(reason) ?? [];
  const lines = output?.split('\n').map(plainText) ?? [];
  const telling = lines.filter((line) => !NOISE.test(line));
  const line = telling.findLast((each) => TELLING.test(each.replace(NPM, ''))) ?? telling.at(-1);
  if (sentence === undefined || line === undefined) return { line: asSentence(reason), sentence: null, output: '' };
  return { line: line.trim(), sentence: asSentence(shortened(sentence)), output: lines.join('\n') };
}

/** A step's command may be long: its beginning says which one it is, and the end of the sentence how it failed. */
function shortened(sentence: string): string {
  if (sentence.length <= MAX_SENTENCE) return sentence;
  return `${sentence.slice(0, MAX_SENTENCE - 80)} … ${sentence.slice(-75)}`;
}

/** `it was cancelled` → `It was cancelled.` */
export function asSentence(text: string): string {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

/** How a step ended other than by itself; null: it ran, or runs. A build that has ended leaves no step running. */
export function stepNote(
  { status }: BuildStep,
  build: Pick<Build, 'status'>,
): 'Unchanged' | 'Failed' | 'Stopped' | null {
  if (status === 'CACHED') return 'Unchanged';
  if (status === 'FAILED') return build.status === 'CANCELLED' ? 'Stopped' : 'Failed';
  return status === 'RUNNING' && !isBuilding(build) ? 'Stopped' : null;
}

/** True while steps run. */
export function isBuilding({ status }: Pick<Build, 'status'>): boolean {
  return status === 'BUILDING' || status === 'PUSHING';
}

/** True for the refusal of a key that lacks a scope. */
export function lacksScope(error: unknown): boolean {
  return error instanceof ApiError && error.status === 403 && error.message === 'access denied';
}

/** Says why a build could not be cancelled or repeated, and what to do. */
export function refusalText(error: unknown): string {
  if (lacksScope(error)) return 'Your API key may not change builds: it needs the scope builds:write.';
  if (error instanceof ApiError && error.status === 409 && error.errors.length > 0) {
    return 'Files of the folder are not kept any more. Run podyard deploy in the folder: it sends them again.';
  }
  return messageOf(error);
}

/** Versions that a text lists. */
const MAX_VERSIONS = 5;

/** `version 3, the latest`, `versions 5 (the latest) and 2`: some releases of an endpoint, newest first. */
export function versionsText(versions: readonly number[], latest: number): string {
  if (versions.length === 1) return `version ${versions[0]}${versions[0] === latest ? ', the latest' : ''}`;
  const shown = versions
    .slice(0, MAX_VERSIONS)
    .map((version) => (version === latest ? `${version} (the latest)` : `${version}`));
  const more = versions.length > MAX_VERSIONS ? [`${versions.length - MAX_VERSIONS} more`] : [];
  return `versions ${new Intl.ListFormat('en-GB').format([...shown, ...more])}`;
}
