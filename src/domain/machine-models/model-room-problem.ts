import { bytesText } from '../../core/text/bytes-text.ts';
import type { ModelRoom } from './machine-model-store.ts';

/** From this share of the budget on, models that cannot leave are a problem. */
const STUCK_SHARE = 0.8;

/**
 * Returns a sentence, without a period, when models that workers use or that are pinned take most of what models may take: others
 * soon don't fit any more. Stored models that may leave are none: they do when room is needed.
 */
export function modelRoomProblem(room: ModelRoom | undefined): string | null {
  if (room === undefined || room.stuckBytes < room.budgetBytes * STUCK_SHARE || room.stuckBytes === 0) return null;
  const share = Math.round((100 * room.stuckBytes) / Math.max(room.budgetBytes, 1));
  return `Models that are pinned or in use take ${share} % of the ${bytesText(room.budgetBytes)} for models (--models-gb): unpin some, or others soon do not fit`;
}
