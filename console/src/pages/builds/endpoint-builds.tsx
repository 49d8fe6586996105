import { Anchor } from '@mantine/core';
import { Link } from 'react-router';
import { EmptyNote } from '../../ui/page.tsx';
import type { EndpointTabProps } from '../endpoints/endpoint-tab-props.ts';
import { BuildTable } from './build-table.tsx';

/** The builds whose images an endpoint took, and those for it that have none. */
export function EndpointBuilds({ endpoint }: EndpointTabProps) {
  return (
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
  );
}
