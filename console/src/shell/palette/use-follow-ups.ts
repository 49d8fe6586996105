import { useQueryClient } from '@tanstack/react-query';
import { api, unwrap } from '../../api/client.ts';
import { ENDPOINT_TABS } from '../../pages/endpoints/endpoint-tabs.ts';
import { notifyError, notifySuccess } from '../../ui/notify.ts';
import type { FollowUp, FollowUps, PaletteItem } from './palette-items.ts';

const SECTIONS = ENDPOINT_TABS.flatMap(({ sections }) => sections);
const POD_TABS = ['Logs', 'Terminal'];
const POD_ACTIONS = [
  { action: 'start', label: 'Start' },
  { action: 'stop', label: 'Stop' },
  { action: 'restart', label: 'Restart' },
] as const;

/** Returns the sections of a record, and what can be done with it. What cannot be undone is asked about on its page. */
export function useFollowUps(): FollowUps {
  const queries = useQueryClient();
  const act = (pod: PaletteItem, action: 'start' | 'stop' | 'restart') => {
    const params = { path: { id: idOf(pod) } };
    unwrap(api.POST('/v2/pods/{id}/action', { params, body: { action } })).then(() => {
      void queries.invalidateQueries({ queryKey: ['pods'] });
      notifySuccess(`Asked to ${action} ${pod.label}.`);
    }, notifyError);
  };
  const ofPod = (pod: PaletteItem) => [
    ...POD_TABS.map((label) => ({ label, to: `${pod.to}/${label.toLowerCase()}` })),
    ...POD_ACTIONS.map(({ action, label }) => ({ label, run: () => act(pod, action) })),
    { label: 'Terminate…', to: `${pod.to}?do=terminate` },
  ];
  return { Endpoint: ofEndpoint, Pod: ofPod };
}

function ofEndpoint({ to }: PaletteItem): FollowUp[] {
  return [
    ...SECTIONS.map(({ value, label }) => ({ label, to: `${to}/${value}` })),
    { label: 'Pause…', to: `${to}?do=pause` },
    { label: 'Resume…', to: `${to}?do=resume` },
    { label: 'Roll back…', to: `${to}/releases` },
    { label: 'Duplicate…', to: `/endpoints/new?from=${to!.split('/').at(-1)}` },
    { label: 'Delete…', to: `${to}?do=delete` },
  ];
}

function idOf({ to }: PaletteItem): string {
  return to!.split('/').at(-1)!;
}
