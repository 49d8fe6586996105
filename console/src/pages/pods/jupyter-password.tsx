import { useQuery } from '@tanstack/react-query';
import { api, unwrap } from '../../api/client.ts';
import { CopyableText } from '../../ui/copyable-text.tsx';

/** The password that Podyard made for a pod's Jupyter; nothing if it made none, or the key may not read it. */
export function JupyterPassword({ id }: { id: string }) {
  const { data } = useQuery({
    queryKey: ['pod-jupyter', id],
    queryFn: () => unwrap(api.GET('/v2/pods/{id}/jupyter', { params: { path: { id } } })),
    retry: false,
  });
  return data?.password ? <CopyableText label="Jupyter password" text={data.password} isHidden /> : null;
}
