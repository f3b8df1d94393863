import { useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { problemOf, type Problem } from "../../api/client";
import { Button, buttonClass } from "../../parts/button";
import { forgetDraft } from "../../parts/draft";
import { Confirm } from "../../parts/drawer";
import { EffectCard, useEffectOf } from "../../parts/effect";
import { ProblemView } from "../../parts/states";
import { say } from "../../parts/toast";
import { t } from "../../words";
import { drafted, remove, type PolicyInfo, type Stored } from "./policy";

interface SwitchesProps {
  realm: string;
  urn: string;
  stored: Stored;
  busy: boolean;
  store: (info: PolicyInfo, said: string) => Promise<void>;
}

/** Actions on a stored policy as a whole. */
export function Switches({ realm, urn, stored, busy, store }: SwitchesProps) {
  const [asked, setAsked] = useState<"switch" | "remove" | null>(null);
  const navigate = useNavigate();
  const isActive = stored.info.state === "ACTIVE";
  const close = () => {
    setAsked(null);
  };
  return (
    <>
      <Link
        className={buttonClass()}
        to="/r/$realm/policy/new"
        params={{ realm }}
        search={{ from: urn }}
      >
        {t("Copy")}
      </Link>
      {stored.info.editable !== false && (
        <>
          <Button
            disabled={busy}
            aria-keyshortcuts="d"
            onClick={() => {
              setAsked("switch");
            }}
          >
            {isActive ? t("Deactivate") : t("Activate")}
          </Button>
          <Button
            look="danger"
            disabled={busy}
            onClick={() => {
              setAsked("remove");
            }}
          >
            {t("Remove")}
          </Button>
          <SwitchDialog
            realm={realm}
            urn={urn}
            info={stored.info}
            open={asked === "switch"}
            onClose={close}
            onAct={(next, said) => {
              close();
              void store(next, said);
            }}
          />
          <RemoveDialog
            realm={realm}
            urn={urn}
            name={stored.info.displayName || urn}
            open={asked === "remove"}
            onClose={close}
            onRemoved={() =>
              void navigate({
                to: "/r/$realm/policies",
                params: { realm },
                ignoreBlocker: true,
              })
            }
          />
        </>
      )}
    </>
  );
}

/** Activates or deactivates a policy, after its effect was shown. */
export function SwitchDialog({
  realm,
  urn,
  info,
  open,
  onAct,
  onClose,
}: {
  realm: string;
  urn: string;
  info: PolicyInfo;
  open: boolean;
  onAct: (info: PolicyInfo, said: string) => void;
  onClose: () => void;
}) {
  const isActive = info.state === "ACTIVE";
  const next = { ...info, state: isActive ? "INACTIVE" : "ACTIVE" };
  const effect = useEffectOf(realm, open ? drafted(urn, next) : null, 0);
  return (
    <Confirm
      open={open}
      title={
        isActive
          ? t("Deactivate {name}?", { name: info.displayName })
          : t("Activate {name}?", { name: info.displayName })
      }
      act={isActive ? t("Deactivate policy") : t("Activate policy")}
      disabled={!effect.isSeen}
      onAct={() => {
        onAct(next, isActive ? t("Policy is inactive now") : t("Policy is active now"));
      }}
      onClose={onClose}
    >
      <EffectCard realm={realm} effect={effect} />
    </Confirm>
  );
}

/** Removes a policy, after its effect was shown. */
export function RemoveDialog({
  realm,
  urn,
  name,
  open,
  onRemoved,
  onClose,
}: {
  realm: string;
  urn: string;
  name: string;
  open: boolean;
  onRemoved: () => void;
  onClose: () => void;
}) {
  const queries = useQueryClient();
  const [problem, setProblem] = useState<Problem | null>(null);
  const effect = useEffectOf(realm, open ? { policies: { remove: [urn] } } : null, 0);
  const close = () => {
    setProblem(null);
    onClose();
  };
  const act = async () => {
    try {
      await remove(realm, urn);
    } catch (failure) {
      setProblem(problemOf(failure));
      return;
    }
    forgetDraft(`policy ${realm} ${urn}`);
    close();
    onRemoved();
    say(t("Policy removed"));
    await queries.invalidateQueries({ predicate: (one) => one.queryKey[0] !== "policy" });
  };
  return (
    <Confirm
      open={open}
      title={t("Remove {name}?", { name })}
      act={t("Remove policy")}
      disabled={!effect.isSeen}
      onAct={act}
      onClose={close}
    >
      {problem && <ProblemView problem={problem} />}
      <EffectCard realm={realm} effect={effect} />
    </Confirm>
  );
}
