import { Anchor, Stack } from '@mantine/core';
import { Link } from 'react-router';
import { EmptyNote } from '../../ui/page.tsx';
import type { EndpointTabProps } from '../endpoints/endpoint-tab-props.ts';
import { BuildTable } from './build-table.tsx';
import { GitSource } from './git-source.tsx';

/** The repository of an endpoint; then the builds whose images it took, and those for it that have none. */
export function EndpointBuilds({ endpoint }: EndpointTabProps) {
  return (
    <Stack>
      <GitSource endpointId={endpoint.id} />
      <BuildTable
        endpointId={endpoint.id}
        empty={
          <EmptyNote>
            Nothing was built for this endpoint. Images that no endpoint has taken are among{' '}
            <Anchor component={Link} to="/builds" size="sm" underline="always">
              all builds
            </Anchor>
            .
          </EmptyNote>
        }
      />
    </Stack>
  );
}
