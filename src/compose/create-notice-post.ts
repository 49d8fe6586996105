import type { Config } from '../config/config.ts';
import { noticeLoop } from '../control/notices/keep-notices.ts';
import { updateLook } from '../control/notices/look-for-update.ts';
import { noticeCourier } from '../control/notices/send-notices.ts';
import { type Clock, monotonicClock } from '../core/clock.ts';
import { readVersion } from '../core/files/own-package.ts';
import { readDisk } from '../core/files/read-disk.ts';
import type { Loop } from '../core/flow/loop.ts';
import type { Logger } from '../core/logger.ts';
import type { Metrics } from '../core/metrics.ts';
import type { SecretBox } from '../core/secret-box.ts';
import type { Pool } from '../db/pool.ts';
import type { WebhookPolicy } from '../domain/jobs/webhook-policy.ts';
import type { NoticeSender } from '../domain/notices/notice.ts';
import { NoticePost } from '../outbound/send-notice.ts';
import { diskProblem } from './describe-installation.ts';
import { hostInUrl } from './front/listen.ts';

/** Creates what sends notices. Throws if the operator's mail file is wrong. */
export async function createNoticePost(config: Config, webhooks: WebhookPolicy): Promise<NoticePost> {
  const { mailFile } = config.notices;
  const mail =
    mailFile === null ? null : await (await import('../outbound/read-mail-settings.ts')).readMailSettings(mailFile);
  const protocol = config.tls === null ? 'http' : 'https';
  const publicUrl = config.publicUrl ?? `${protocol}://${hostInUrl(config.host)}:${config.port}`;
  return new NoticePost({ mail, webhooks, publicUrl });
}

interface Parts {
  pool: Pool;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
  secretBox: SecretBox;
  notices: NoticeSender;
  epoch: number;
}

/** Creates the loops that find due notices and send them. */
export function createNoticeLoops({ dataDir, notices }: Config, parts: Parts): Pick<Loop, 'start' | 'stop'>[] {
  const courier = noticeCourier(parts);
  const findDiskProblem = async () => diskProblem(await readDisk(dataDir));
  const readUpdate = updateLook({ ...parts, clock: monotonicClock, place: notices.releases, current: readVersion() });
  return [noticeLoop({ ...parts, readDisk: findDiskProblem, readUpdate, onLook: () => courier.wake() }), courier];
}
