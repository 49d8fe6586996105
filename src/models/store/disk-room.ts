import { statfs } from 'node:fs/promises';
import { Failure } from '../../core/errors.ts';

/** Limits of models on a disk. */
export interface DiskLimits {
  /** Null: half of what they use and what is free. */
  budgetBytes: number | null;
}

/** The disk as models find it. */
export interface DiskState {
  totalBytes: number;
  freeBytes: number;
  /** Stored models, with the beginnings of those that are being fetched. */
  usedBytes: number;
  /** Bytes that running fetches still bring. */
  comingBytes: number;
}

const DEFAULT_SHARE = 0.5;
/** The share that stays free for everything else: a twentieth of the disk, at most 10 GB. */
const MARGIN_SHARE = 0.05;
const MAX_MARGIN_BYTES = 10e9;

export async function readDisk(path: string): Promise<Pick<DiskState, 'totalBytes' | 'freeBytes'>> {
  const { bsize, blocks, bavail } = await statfs(path);
  return { totalBytes: blocks * bsize, freeBytes: bavail * bsize };
}

export function budgetOf({ budgetBytes }: DiskLimits, { freeBytes, usedBytes }: DiskState): number {
  return budgetBytes ?? Math.floor(DEFAULT_SHARE * (usedBytes + freeBytes));
}

/** Returns how many bytes have to go before `bytes` more fit into the budget and the disk; 0 or less: none. */
export function missingBytes(limits: DiskLimits, disk: DiskState, bytes: number): number {
  const coming = disk.comingBytes + bytes;
  const overBudget = disk.usedBytes + coming - budgetOf(limits, disk);
  return Math.max(overBudget, coming - spareBytes(disk));
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
