-- rollback-safe: older versions run on this schema; they only leave the decisions of deleted endpoints in the table.

-- The statements that change workers now store decisions too. Checking this foreign key would lock the endpoint after its
-- workers, while the deletion of an endpoint locks the endpoint first: a deadlock. Decisions are deleted with the endpoint,
-- and what a race leaves behind by the housekeeping.
alter table scaling_decisions drop constraint scaling_decisions_endpoint_id_fkey;
