import { existsSync } from 'node:fs';
import { access, constants } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Config } from '../../config/config.ts';
import { messageOf } from '../../core/errors.ts';
import { readDisk } from '../../core/files/read-disk.ts';
import { networkReason } from '../../core/text/network-reason.ts';
import { budgetOf, gigabytes } from '../../models/store/disk-room.ts';
import { directoryBytes } from '../../runtimes/directories/directory-bytes.ts';
import type { Finding } from './finding.ts';

const what = 'models';
const HUB_TIMEOUT_MS = 3_000;

/** Tries where models of endpoints are kept, and the hub that they come from, unless `isOffline`. */
export function checkModels(
  config: Pick<Config, 'dataDir' | 'hubUrl' | 'models'>,
  isOffline: boolean,
): Promise<Finding[]> {
  return Promise.all([checkStore(config), ...(isOffline ? [] : [checkHub(config.hubUrl)])]);
}

async function checkStore({ dataDir, models }: Pick<Config, 'dataDir' | 'models'>): Promise<Finding> {
  const folder = join(resolve(dataDir), 'models');
  try {
    const place = nearest(folder);
    await access(place, constants.W_OK | constants.X_OK);
    const [{ totalBytes, freeBytes }, usedBytes] = await Promise.all([readDisk(place), directoryBytes(folder)]);
    const budget = budgetOf(models, { totalBytes, freeBytes, usedBytes, comingBytes: 0, elsewhereBytes: 0 });
    const found = `${folder} may take ${gigabytes(budget)} and has ${gigabytes(usedBytes)}; ${gigabytes(freeBytes)} of the disk are free`;
    if (budget <= usedBytes + freeBytes) return { what, verdict: 'ok', found };
    return { what, verdict: 'note', found, advice: 'The disk has less: lower --models-gb, or move --data-dir.' };
  } catch (error) {
    const advice = 'No model can be stored. Give the folder to the user of the server, or choose another --data-dir.';
    return { what, verdict: 'note', found: messageOf(error), advice };
  }
}

/** Any answer will do: what a model may be read with is asked when one is named. */
async function checkHub(url: string): Promise<Finding> {
  const signal = AbortSignal.timeout(HUB_TIMEOUT_MS);
  const { host } = new URL(url);
  const advice = 'Models of a hub cannot be fetched. Let this machine reach it, or name a mirror with --hub-url.';
  try {
    const { status } = await fetch(url, { method: 'HEAD', redirect: 'manual', signal });
    if (status < 500) return { what, verdict: 'ok', found: `the hub ${host} answers` };
    return { what, verdict: 'note', found: `the hub ${host} answers with status ${status}`, advice };
  } catch (error) {
    const seconds = `does not answer within ${HUB_TIMEOUT_MS / 1_000} seconds`;
    const why = signal.aborted ? seconds : `cannot be reached: ${networkReason(error, new URL(url).hostname)}`;
    return { what, verdict: 'note', found: `the hub ${host} ${why}`, advice };
  }
}

function nearest(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : nearest(dirname(folder));
}
