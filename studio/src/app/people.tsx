/** Who belongs to the organization, their roles, and invitations. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../lib/actions.ts";
import { request, type ResultOf } from "../lib/api.ts";
import { useFormDraft } from "../lib/drafts.ts";
import { useLoad } from "../lib/load.ts";
import { ROLES, type Role } from "../lib/roles.ts";
import { findSession, session } from "../lib/session.ts";
import { Field, Page, ProblemNote, Show, ShownOnce, Table, Time, Unseen } from "../ui/parts.tsx";

type Member = ResultOf<"get", "/api/v1/members">["members"][number];

const DAY_S = 86_400;
const LIFETIMES = [1, 7, 30];

export default function People(): JSX.Element {
  return (
    <Page title="People">
      <Members />
      <Invitations />
    </Page>
  );
}

function Members(): JSX.Element {
  const loaded = useLoad(() => request("get", "/api/v1/members"), []);
  return (
    <section class="card stack" aria-label="Members">
      <h2>Members</h2>
      <Show of={loaded}>
        {({ members }) => (
          <Table columns={["E-mail address", "Role", "Joined", <Unseen>Remove</Unseen>]}>
            {members.map((member) => (
              <MemberRow key={member.user_id} member={member} reload={loaded.reload} />
            ))}
          </Table>
        )}
      </Show>
    </section>
  );
}

function MemberRow({ member, reload }: { member: Member; reload: () => void }): JSX.Element {
  const [role, setRole] = useState<Role>(member.role);
  const { problem, isRunning, run } = useAction();
  const path = { user_id: member.user_id };
  const isSelf = session.value?.user.id === member.user_id;
  const finish = async (): Promise<void> => {
    // Somebody who takes away their own role has to see what is left.
    if (isSelf) await findSession();
    reload();
  };
  const save = (event: SubmitEvent): void => {
    event.preventDefault();
    run(async () => {
      await request("patch", "/api/v1/members/{user_id}", { path, body: { role } });
      await finish();
    });
  };
  const remove = (): void => {
    const warning =
      `Remove ${member.email} from this organization? Their sessions end.` +
      " API keys that they have made keep working: revoke them in the settings.";
    if (!confirm(warning)) return;
    run(async () => {
      await request("delete", "/api/v1/members/{user_id}", { path });
      await finish();
    });
  };
  return (
    <tr>
      <td>
        {member.email}
        {isSelf && <span class="quiet"> (you)</span>}
        <ProblemNote problem={problem} />
      </td>
      <td>
        <form class="row" onSubmit={save}>
          <RoleChoice
            label={`Role of ${member.email}`}
            value={role}
            onChange={setRole}
            attributes={{ "aria-invalid": problem !== null }}
          />
          {role !== member.role && (
            <button class="primary" disabled={isRunning}>
              Save
            </button>
          )}
        </form>
      </td>
      <td>
        <Time iso={member.joined_at} />
      </td>
      <td>
        <button type="button" class="danger" disabled={isRunning} onClick={remove}>
          Remove
        </button>
      </td>
    </tr>
  );
}

function RoleChoice({
  label,
  value,
  onChange,
  attributes = {},
}: {
  label?: string;
  value: Role;
  onChange: (role: Role) => void;
  attributes?: { id?: string; "aria-invalid"?: boolean; "aria-describedby"?: string | undefined };
}): JSX.Element {
  return (
    <select
      {...attributes}
      aria-label={label}
      name="role"
      value={value}
      onChange={(event) => onChange(event.currentTarget.value as Role)}
    >
      {ROLES.map(([role]) => (
        <option key={role} value={role}>
          {role}
        </option>
      ))}
    </select>
  );
}

function Invitations(): JSX.Element {
  const loaded = useLoad(() => request("get", "/api/v1/invitations"), []);
  const { problem, isRunning, run } = useAction();
  const [role, setRole] = useState<Role>("member");
  const [days, setDays] = useState(7);
  const draft = useFormDraft("invitation");
  const [made, setMade] = useState<{ email: string; url: string } | null>(null);
  const invite = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const data = new FormData(form);
    run(async () => {
      const body = {
        email: String(data.get("email")),
        role,
        expires_in_s: days * DAY_S,
      };
      setMade(await request("post", "/api/v1/invitations", { body }));
      form.reset();
      loaded.reload();
    });
  };
  const revoke = (id: string): void => {
    run(async () => {
      await request("delete", "/api/v1/invitations/{invitation_id}", {
        path: { invitation_id: id },
      });
      setMade(null);
      loaded.reload();
    });
  };
  return (
    <section class="card stack" aria-label="Invitations">
      <h2>Invitations</h2>
      <p class="quiet">
        Nothing is sent: copy the link and pass it on. It works once, for this e-mail address.
      </p>
      {problem?.field !== "email" && <ProblemNote problem={problem} />}
      <form ref={draft} class="row fields" onSubmit={invite}>
        <Field label="E-mail address" name="email" problem={problem}>
          {(attributes) => (
            <input {...attributes} name="email" type="email" required maxLength={254} />
          )}
        </Field>
        <Field label="Role">
          {({ id }) => <RoleChoice attributes={{ id }} value={role} onChange={setRole} />}
        </Field>
        <Field label="Valid for">
          {(attributes) => (
            <select
              {...attributes}
              value={days}
              onChange={(event) => setDays(Number(event.currentTarget.value))}
            >
              {LIFETIMES.map((each) => (
                <option key={each} value={each}>
                  {each === 1 ? "a day" : `${each} days`}
                </option>
              ))}
            </select>
          )}
        </Field>
        <button class="primary" disabled={isRunning}>
          Invite
        </button>
      </form>
      <p class="quiet">{ROLES.find(([each]) => each === role)?.[1]}.</p>
      {made && <ShownOnce name={`The link for ${made.email}`} text={made.url} />}
      <Show of={loaded}>
        {({ invitations }) =>
          invitations.length === 0 ? (
            <p class="quiet">Nobody is invited.</p>
          ) : (
            <Table
              columns={["E-mail address", "Role", "Invited by", "Expires", <Unseen>Revoke</Unseen>]}
            >
              {invitations.map((each) => (
                <tr key={each.id}>
                  <td>{each.email}</td>
                  <td>{each.role}</td>
                  <td>{each.invited_by ?? "the operator"}</td>
                  <td>
                    <Time iso={each.expires_at} />
                  </td>
                  <td>
                    <button type="button" class="danger" onClick={() => revoke(each.id)}>
                      Revoke
                    </button>
                  </td>
                </tr>
              ))}
            </Table>
          )
        }
      </Show>
    </section>
  );
}
