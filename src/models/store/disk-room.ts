import { Failure } from '../../core/errors.ts';
import type { DiskSpace } from '../../core/files/read-disk.ts';

/** Limits of models on a disk. */
export interface DiskLimits {
  /** Null: half of what they use and what is free. */
  budgetBytes: number | null;
}

/** The disk as models find it. */
export interface DiskState extends DiskSpace {
  /** Stored models, with the beginnings of those that are being fetched. */
  usedBytes: number;
  /** Bytes that running fetches still bring. */
  comingBytes: number;
  /** As much of fetches into other folders of the disk, which have budgets of their own. */
  elsewhereBytes: number;
}

const DEFAULT_SHARE = 0.5;
/** The share that stays free for everything else: a twentieth of the disk, at most 10 GB. */
const MARGIN_SHARE = 0.05;
const MAX_MARGIN_BYTES = 10e9;

export function budgetOf({ budgetBytes }: DiskLimits, { freeBytes, usedBytes }: DiskState): number {
  return budgetBytes ?? Math.floor(DEFAULT_SHARE * (usedBytes + freeBytes));
}

/** Returns how many bytes have to go before all that is coming fits into the budget and the disk; 0 or less: none. */
export function missingBytes(limits: DiskLimits, disk: DiskState): number {
  const { usedBytes, comingBytes, elsewhereBytes } = disk;
  return Math.max(usedBytes + comingBytes - budgetOf(limits, disk), comingBytes + elsewhereBytes - spareBytes(disk));
}

/** Throws for a model that would not fit even if it were the only one. */
export function refuseTooLarge(limits: DiskLimits, disk: DiskState, name: string, bytes: number): void {
  const budget = budgetOf(limits, disk);
  const room = Math.min(budget, disk.usedBytes + spareBytes(disk));
  if (bytes <= room) return;
  const why =
    room === budget
      ? `models may take ${gigabytes(budget)} on this machine (--models-gb)`
      : `its disk has ${gigabytes(Math.max(0, room))} for models`;
  throw new Failure('unprocessable', `the model '${name}' has ${gigabytes(bytes)}, but ${why}`);
}

export function gigabytes(bytes: number): string {
  return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

function spareBytes({ totalBytes, freeBytes }: DiskState): number {
  return freeBytes - Math.min(MAX_MARGIN_BYTES, MARGIN_SHARE * totalBytes);
}
