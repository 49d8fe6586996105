import { bytesText } from '../../../../src/core/text/bytes-text.ts';
import { counted } from '../../../../src/core/text/counted.ts';
import type { Schemas } from '../../api/client.ts';
import { formatDuration } from '../../ui/text/format.ts';
import type { StatusLook } from '../../ui/text/labels.ts';

export type StoredModel = Schemas['MachineModel'];
export type ModelRoom = NonNullable<Schemas['MachineModelList']['room']>;
export type ResolvedModel = Schemas['ResolvedModels']['models'][number];

/** The most urgent states come first. */
export const MODEL_STATES = {
  FAILED: { label: 'Failed', color: 'red' },
  FETCHING: { label: 'Fetching', color: 'blue' },
  STORED: { label: 'Stored', color: 'green' },
} satisfies Record<string, StatusLook>;

export function modelState({ state, problem }: Pick<StoredModel, 'state' | 'problem'>): keyof typeof MODEL_STATES {
  if (problem !== null) return 'FAILED';
  return state === 'STORED' ? 'STORED' : 'FETCHING';
}

/** The first characters of a commit or digest. */
export function shortCommit(commit: string): string {
  return commit.replace(/^sha256:/, '').slice(0, 7);
}

/** `org/name@1a2b3c4, 3 files, 16.4 GB`. */
export function modelText({
  name,
  commit,
  files,
  bytes,
}: Pick<ResolvedModel, 'name' | 'commit' | 'files' | 'bytes'>): string {
  return `${name}@${shortCommit(commit)}, ${counted(files, 'file')}, ${bytesText(bytes)}`;
}

/** Returns how far a fetch is, in percent; null: unknown. */
export function fetchPercent({ fetch }: Pick<StoredModel, 'fetch'>): number | null {
  if (!fetch || fetch.totalBytes === 0) return null;
  return Math.min(100, Math.floor((100 * fetch.bytes) / fetch.totalBytes));
}

/** `1.2 GB of 14.0 GB, 210.0 MB/s, 1 min 1 s left`. */
export function fetchText({ fetch }: Pick<StoredModel, 'fetch'>): string {
  if (!fetch || fetch.totalBytes === 0) return 'Waiting for its turn';
  const left = fetch.secondsLeft === null ? '' : `, ${formatDuration(fetch.secondsLeft * 1_000)} left`;
  return `${bytesText(fetch.bytes)} of ${bytesText(fetch.totalBytes)}, ${bytesText(fetch.bytesPerSecond)}/s${left}`;
}

export interface RoomBar {
  /** Shares of the budget in percent. */
  stuckPercent: number;
  otherPercent: number;
  text: string;
}

/** Returns the bar of what models take: first what cannot leave. */
export function roomBar({ budgetBytes, usedBytes, stuckBytes }: ModelRoom): RoomBar {
  const percent = (bytes: number) => Math.min(100, Math.round((100 * bytes) / Math.max(1, budgetBytes)));
  const stuckPercent = percent(stuckBytes);
  return {
    stuckPercent,
    otherPercent: Math.min(100 - stuckPercent, percent(Math.max(0, usedBytes - stuckBytes))),
    text: `${bytesText(usedBytes)} of ${bytesText(budgetBytes)}; ${bytesText(stuckBytes)} are pinned or in use`,
  };
}

/** Returns whether a model fits on the machine, in a sentence; null: no machine stores models. */
export function fitText(
  { id, bytes }: Pick<ResolvedModel, 'id' | 'bytes'>,
  { models, room }: Schemas['MachineModelList'],
): string | null {
  if (models.some((one) => one.id === id && one.state === 'STORED')) return 'It is on the machine already.';
  if (!room) return null;
  const { budgetBytes, usedBytes, stuckBytes } = room;
  const [size, budget] = [bytesText(bytes), bytesText(budgetBytes)];
  if (bytes > budgetBytes) return `It does not fit: models may take ${budget}, and it has ${size}.`;
  if (bytes > budgetBytes - stuckBytes)
    return `It does not fit now: ${bytesText(stuckBytes)} of ${budget} are pinned or in use.`;
  if (bytes > budgetBytes - usedBytes) return `It fits, once models that were used longest ago have left.`;
  return `It fits: ${bytesText(budgetBytes - usedBytes)} of ${budget} are free.`;
}

/** Patterns as a field has them: separated by spaces or commas. */
export function patternsOf(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}
