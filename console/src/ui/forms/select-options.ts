import type { Schemas } from '../../api/client.ts';
import { visibleText } from '../text/visible-text.ts';

interface Option {
  value: string;
  label: string;
}

/** Options of records by name; none while they load. */
export function recordOptions(records: readonly { id: string; name: string }[] = []): Option[] {
  return records.map(({ id, name }) => ({ value: id, label: visibleText(name) }));
}

export function volumeOptions(volumes: readonly Schemas['NetworkVolume'][] = []): Option[] {
  return volumes.map(({ id, name, dataCenter }) => ({ value: id, label: `${visibleText(name)} (${dataCenter})` }));
}
