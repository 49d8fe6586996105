import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useSearchParams } from 'react-router';
import { post } from '../../api/sign-in-calls.ts';
import { ErrorText } from '../../ui/error-alert.tsx';
import { Page } from '../../ui/page.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';

/** Where a private pod sends a browser that it does not know: leads back to the pod if the reader may open it. */
export function OpenPodPage() {
  const [query] = useSearchParams();
  const [pod, port, state] = ['pod', 'port', 'state'].map((name) => query.get(name) ?? '');
  const { error } = useQuery({
    queryKey: ['open-pod', pod, port, state],
    ...{ gcTime: 0, staleTime: Number.POSITIVE_INFINITY }, // a ticket is used once
    queryFn: async () => {
      const { url } = (await post('pod', { pod, port, state })) as { url: string };
      location.replace(url);
      return url;
    },
  });
  return (
    <Page title="Open a pod">
      {error ? (
        <ErrorText error={error} />
      ) : (
        <Text role="status">
          Opening port {visibleText(port ?? '')} of the pod {visibleText(pod ?? '')}…
        </Text>
      )}
    </Page>
  );
}
