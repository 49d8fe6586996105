import { api, unwrap } from '../../api/client.ts';
import { TerminalPanel } from '../../ui/terminal/terminal-panel.tsx';

/** A shell in the pod. */
export function PodTerminal({ id }: { id: string }) {
  const open = () => unwrap(api.POST('/v2/pods/{id}/terminals', { params: { path: { id } }, body: {} }));
  return <TerminalPanel open={open} isPlaceOf={({ podId }) => podId === id} />;
}
