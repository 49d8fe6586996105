import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from 'react-router';
import { notifySuccess } from '../../ui/notify.ts';
import { Page } from '../../ui/page.tsx';
import { EndpointForm } from './endpoint-form.tsx';
import { NEW_ENDPOINT } from './endpoint-values.ts';
import { createEndpoint } from './save-endpoint.ts';

export function NewEndpointPage() {
  const navigate = useNavigate();
  const queries = useQueryClient();
  return (
    <Page title="New endpoint">
      <EndpointForm
        isNew
        initial={NEW_ENDPOINT}
        onSubmit={async (values) => {
          const endpoint = await createEndpoint(values);
          await queries.invalidateQueries({ queryKey: ['endpoints'] });
          notifySuccess(`Deployed ${endpoint.name}.`);
          navigate(`/endpoints/${endpoint.id}`);
        }}
      />
    </Page>
  );
}
