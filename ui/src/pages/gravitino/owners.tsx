import { useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";

import { $api, problemOf, type Problem } from "../../api/client";
import { useHeld } from "../../api/rights";
import { suggest } from "../../api/suggest";
import { Button } from "../../parts/button";
import { EffectCard, useEffectOf } from "../../parts/effect";
import { bare, kindOf, Name, principalOf } from "../../parts/name";
import { Beside, Card, Page } from "../../parts/page";
import { Picker } from "../../parts/picker";
import { Empty, Loading, ProblemView } from "../../parts/states";
import { say } from "../../parts/toast";
import { Versions } from "../../parts/versions";
import { t } from "../../words";
import { setOwner } from "./gravitino";
import styles from "./role.module.css";
import { RoleTabs } from "./roles";

const route = getRouteApi("/r/$realm/owners");

/** The owner of an object, and transferring it to another owner. */
export default function Owners() {
  const { realm } = route.useParams();
  const { e } = route.useSearch();
  const navigate = route.useNavigate();
  const [entity, setEntity] = useState(e ?? "");
  const [shown, setShown] = useState(e);
  if (shown !== e) {
    setShown(e);
    setEntity(e ?? "");
  }
  return (
    <Page title={t("Owners")} heading={t("Roles and grants")}>
      <RoleTabs realm={realm} />
      <form
        className={styles.find}
        onSubmit={(event) => {
          event.preventDefault();
          void navigate({ search: { e: entity || undefined } });
        }}
      >
        <Picker
          label={t("Object")}
          placeholder={t("an object: type:metalake:name")}
          value={entity}
          onChange={setEntity}
          suggest={suggest("entity", realm)}
          source={`entities ${realm}`}
        />
        <Button look="main" type="submit">
          {t("Show its owner")}
        </Button>
      </form>
      {e ? (
        <Owner key={`${realm} ${e}`} realm={realm} entity={e} />
      ) : (
        <Empty title={t("Name an object: its owner may do everything with it.")} />
      )}
    </Page>
  );
}

function Owner({ realm, entity }: { realm: string; entity: string }) {
  const queries = useQueryClient();
  const [who, setWho] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [base, setBase] = useState<string[]>([]);
  const [theirs, setTheirs] = useState<string[] | null>(null);
  const stored = $api.useQuery(
    "get",
    "/api/v1/realms/{realm}/entity",
    { params: { path: { realm }, query: { entity } } },
    { retry: false },
  );
  const may = useHeld(realm, entity);
  const owners = stored.data?.owners ?? [];
  const next = principalOf(who);
  const effect = useEffectOf(
    realm,
    next && stored.data && !owners.some((one) => one.principal === next)
      ? {
          owners: {
            set: [{ entity, principal: next, ownership: "" }],
            unset: owners.map((one) => ({ entity, ownership: "", ...one })),
          },
        }
      : null,
  );
  if (!stored.data)
    return stored.error ? (
      <ProblemView problem={problemOf(stored.error)} onRetry={() => void stored.refetch()} />
    ) : (
      <Loading />
    );
  const save = async (seen: string[]) => {
    const read = await stored.refetch();
    if (read.isError) {
      setProblem(problemOf(read.error));
      return;
    }
    const now = (read.data?.owners ?? []).map((one) => one.principal);
    if (now.join() !== seen.join()) {
      setTheirs(now);
      return;
    }
    try {
      await setOwner(realm, entity, next);
    } catch (failure) {
      setProblem(problemOf(failure));
      return;
    }
    setProblem(null);
    setTheirs(null);
    setWho("");
    await queries.invalidateQueries();
    say(t("{who} owns it now", { who: bare(next) }));
  };
  return (
    <Beside
      side={effect.shown || effect.problem ? <EffectCard realm={realm} effect={effect} /> : null}
    >
      <Card
        title={
          <Link to="/asset" search={{ realm, e: entity }}>
            {kindOf(entity)} <Name text={bare(entity)} cut={70} />
          </Link>
        }
      >
        <p>
          {owners.length === 0
            ? t("Nobody owns it.")
            : owners.map((one) => (
                <span key={one.principal}>
                  {t("Owner:")}{" "}
                  <Link to="/principal" search={{ realm, p: one.principal }}>
                    <Name text={bare(one.principal)} />
                  </Link>
                </span>
              ))}
        </p>
        <form
          className={styles.add}
          hidden={!may("owner.set")}
          onSubmit={(event) => {
            event.preventDefault();
            void save(theirs ?? base);
          }}
        >
          <Picker
            label={t("New owner")}
            shortcut="e"
            placeholder={t("a user, or a group")}
            value={who}
            onChange={(value) => {
              if (!who) setBase(owners.map((one) => one.principal));
              setWho(value);
            }}
            suggest={suggest("user,group", realm)}
            source={`owners ${realm}`}
          />
          <Button look="main" type="submit" disabled={!next || !effect.isSeen}>
            {t("Set owner")}
          </Button>
        </form>
        {problem && <ProblemView problem={problem} />}
      </Card>
      {theirs && next && (
        <Versions
          title={t("Somebody else has changed the owner")}
          rows={[{ title: t("Owner"), was: base, theirs, mine: [next] }]}
          busy={!effect.isSeen}
          onTheirs={() => {
            setWho("");
            setTheirs(null);
          }}
          onMine={() => void save(theirs)}
        />
      )}
    </Beside>
  );
}
