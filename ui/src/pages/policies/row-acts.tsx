import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { problemOf } from "../../api/client";
import { Drawer } from "../../parts/drawer";
import { History } from "../../parts/history";
import { RowMenu, type Act } from "../../parts/menu";
import { Name } from "../../parts/name";
import { ProblemView } from "../../parts/states";
import { say } from "../../parts/toast";
import { t } from "../../words";
import { policy, save, type PolicyInfo } from "./policy";
import type { Row } from "./rows";
import { RemoveDialog, SwitchDialog } from "./switches";

type Asked = "switch" | "remove" | "history";

/** Actions on a policy from the list. */
export function RowActs({ realm, one }: { realm: string; one: Row }) {
  const navigate = useNavigate();
  const [asked, setAsked] = useState<Asked | null>(null);
  const at = { params: { realm } };
  const acts: Act[] = [
    {
      text: t("Open"),
      onAct: () => void navigate({ to: "/r/$realm/policy", ...at, search: { urn: one.urn } }),
    },
    {
      text: t("Copy"),
      onAct: () => void navigate({ to: "/r/$realm/policy/new", ...at, search: { from: one.urn } }),
    },
    ...(one.isEditable
      ? [
          {
            text: one.isActive ? t("Deactivate") : t("Activate"),
            onAct: () => {
              setAsked("switch");
            },
          },
        ]
      : []),
    {
      text: t("History"),
      onAct: () => {
        setAsked("history");
      },
    },
    ...(one.isEditable
      ? [
          {
            text: t("Remove"),
            onAct: () => {
              setAsked("remove");
            },
          },
        ]
      : []),
  ];
  const keys = {
    e: () =>
      void navigate({ to: "/r/$realm/policy", ...at, search: { urn: one.urn }, hash: "edit" }),
    d: () => {
      if (one.isEditable) setAsked("switch");
    },
  };
  return (
    <>
      <RowMenu label={t("Acts on {name}", { name: one.name })} acts={acts} keys={keys} />
      {asked && (
        <Dialogs
          realm={realm}
          one={one}
          asked={asked}
          onClose={() => {
            setAsked(null);
          }}
        />
      )}
    </>
  );
}

function Dialogs({
  realm,
  one,
  asked,
  onClose,
}: {
  realm: string;
  one: Row;
  asked: Asked;
  onClose: () => void;
}) {
  const queries = useQueryClient();
  const stored = useQuery({ ...policy(realm, one.urn), enabled: asked === "switch" });
  const store = async (info: PolicyInfo, said: string) => {
    if (!stored.data) return;
    onClose();
    try {
      await save(realm, one.urn, info, stored.data.version);
      say(said);
    } catch (failure) {
      say(problemOf(failure).detail);
    }
    await queries.invalidateQueries();
  };
  return (
    <>
      {asked === "switch" && stored.error && (
        <Drawer open onClose={onClose} title={<Name text={one.name} />}>
          <ProblemView problem={problemOf(stored.error)} onRetry={() => void stored.refetch()} />
        </Drawer>
      )}
      {stored.data && !stored.error && (
        <SwitchDialog
          realm={realm}
          urn={one.urn}
          info={stored.data.info}
          open={asked === "switch"}
          onClose={onClose}
          onAct={(next, said) => void store(next, said)}
        />
      )}
      <RemoveDialog
        realm={realm}
        urn={one.urn}
        name={one.name}
        open={asked === "remove"}
        onClose={onClose}
        onRemoved={onClose}
      />
      <Drawer open={asked === "history"} onClose={onClose} title={<Name text={one.name} />}>
        <History realm={realm} about={{ statement: one.urn }} alone />
      </Drawer>
    </>
  );
}
