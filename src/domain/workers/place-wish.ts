import { KEY_VARIABLE } from '../access/workload-keys.ts';
import type { GpuConfig } from '../endpoints/endpoint.ts';
import { REFERENCE_PREFIX } from '../secrets/secret-references.ts';

/** A new worker of an endpoint that needs only GPUs and a public image. */
export interface PlaceWish {
  image: string;
  gpu: GpuConfig;
  dataCenterIds: string[];
  networkVolumeIds: string[];
  /** The user's env has a key, so that the worker gets none. */
  hasKey: boolean;
}

/**
 * Selects the PlaceWish of an endpoint `e`. Null where more has to be there before a worker may claim GPUs (secrets, models, credentials), where
 * CPUs are claimed, and where an earlier release than the newest serves.
 */
export const PLACE_WISH = `case when e.serving_version is null and e.gpu_pools is not null and e.registry_id is null
    and coalesce(jsonb_array_length(e.models), 0) = 0 and strpos(e.env::text, '${REFERENCE_PREFIX}') = 0
  then jsonb_build_object('image', e.image, 'gpu', jsonb_build_object('pools', e.gpu_pools, 'count', e.gpu_count) || e.gpu_rule,
    'dataCenterIds', e.data_center_ids, 'networkVolumeIds', e.network_volume_ids, 'hasKey', e.env ? '${KEY_VARIABLE}') end`;
