import { Anchor, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { ApiError } from '../../api/api-error.ts';
import { api, unwrap } from '../../api/client.ts';
import { endpointsQuery } from '../../api/queries.ts';
import { CopyableId } from '../../ui/copyable-id.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Name } from '../../ui/text/record-name.tsx';
import { formatBytes } from '../endpoints/jobs/payload-text.ts';
import { type Build, versionsText } from './build-values.ts';

/** The image of a build: its name, content and size, and the endpoints whose releases have it. */
export function BuildImage({ build }: { build: Build }) {
  const { image, digest, sizeBytes } = build;
  return (
    <Panel title="Image" padding="md">
      <Stack gap={4}>
        {image === null ? (
          <Text size="sm">
            The image was removed: nothing used it any more. Build the folder again to have it back.
          </Text>
        ) : (
          <CopyableId id={image} what="image" />
        )}
        {digest !== null && <CopyableId id={digest} what="digest" />}
        {sizeBytes !== null && <Text size="sm">{formatBytes(sizeBytes)}</Text>}
        <Uses build={build} />
      </Stack>
    </Panel>
  );
}

/** Endpoints that have the image now, and the one that took it last. */
function Uses({ build: { id, image, endpointId } }: { build: Build }) {
  const { data, isPending } = useQuery(endpointsQuery);
  const endpoints = data?.endpoints ?? [];
  const users = endpoints.filter((endpoint) => endpoint.image === image).map((endpoint) => endpoint.id);
  const ids = [...new Set([...users, ...(endpointId === null ? [] : [endpointId])])];
  if (ids.length > 0) return ids.map((each) => <Use key={each} buildId={id} endpointId={each} />);
  if (image === null || isPending) return null;
  return (
    <Text size="sm">
      No endpoint has it. Give its name to one as the image, or run <code>podyard deploy</code>.
    </Text>
  );
}

function Use({ buildId, endpointId: id }: { buildId: string; endpointId: string }) {
  const params = { path: { id } };
  const query = useQuery({
    queryKey: ['builds', 'use', id],
    queryFn: async () => {
      const [endpoint, list] = await Promise.all([
        unwrap(api.GET('/v2/serverless/{id}', { params })),
        unwrap(api.GET('/v2/serverless/{id}/releases', { params })),
      ]);
      return { ...list, name: endpoint.name };
    },
  });
  if (query.error instanceof ApiError && query.error.status === 404) {
    return <Text size="sm">The endpoint {id}, which took it, was deleted.</Text>;
  }
  const versions = query.data?.releases.filter((release) => release.buildId === buildId) ?? [];
  const numbers = versions.map(({ version }) => version);
  return (
    <Text size="sm">
      Used by{' '}
      <Anchor component={Link} to={`/endpoints/${id}/releases`} size="sm" underline="always">
        <Name>{query.data?.name ?? id}</Name>
      </Anchor>
      {query.data && numbers.length > 0 && `: ${versionsText(numbers, query.data.endpointVersion)}`}
    </Text>
  );
}
