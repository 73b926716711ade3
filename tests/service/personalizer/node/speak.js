// Every operation of Microsoft's two clients in JavaScript, against the service at ADDRESS with KEY: a name for each
// that did what it should, and an error for the first that did not.
//
// `isUnexpected` of @azure-rest/ai-personalizer takes a right 204 for wrong where a path has a parameter: the statuses
// themselves are looked at.

const assert = require("node:assert");
const { ApiKeyCredentials } = require("@azure/ms-rest-js");
const { PersonalizerClient } = require("@azure/cognitiveservices-personalizer");
const { AzureKeyCredential } = require("@azure/core-auth");
const createClient = require("@azure-rest/ai-personalizer").default;

const [address, key] = process.argv.slice(2);
const actions = ["hat", "shoe"].map((id, price) => ({ id, features: [{ price }, { of: { season: id } }] }));
const done = (name) => console.log(name);

async function version10(endpoint) {
  const credentials = new ApiKeyCredentials({ inHeader: { "Ocp-Apim-Subscription-Key": key } });
  const client = new PersonalizerClient(credentials, endpoint);
  const eventId = `js ev/1 é?#% ${endpoint.length}`;
  const told = await client.rank({ actions, excludedActions: ["hat"], eventId, deferActivation: true });
  assert.strictEqual(told._response.status, 201);
  assert.strictEqual(told.eventId, eventId);
  assert.strictEqual(told.rewardActionId, "shoe");
  assert.deepStrictEqual(told.ranking.map((one) => one.id).sort(), ["hat", "shoe"]);
  done("v1.0 rank");
  assert.strictEqual((await client.events.activate(eventId))._response.status, 204);
  done("v1.0 events.activate");
  assert.strictEqual((await client.events.reward(eventId, { value: 0.5 }))._response.status, 204);
  done("v1.0 events.reward");
  await assert.rejects(client.rank({ actions: [{ id: "hat", features: [] }] }), (error) => {
    assert.strictEqual(error.statusCode, 400);
    assert.strictEqual(error.body.error.code, "BadRequest");
    assert.strictEqual(error.body.error.innerError.code, "InvalidRankRequest");
    return true;
  });
  done("v1.0 refusal");
}

async function version11() {
  const client = createClient(address, new AzureKeyCredential(key), { allowInsecureConnection: true });
  const called = async (status, method, path, names = [], options = {}) => {
    const answer = await client.path(path, ...names)[method](options);
    assert.strictEqual(answer.status, String(status), `${method} ${path}: ${JSON.stringify(answer.body)}`);
    done(`v1.1 ${method} ${path}`);
    return answer;
  };
  const refused = async (status, code, ...rest) => {
    const answer = await called(status, ...rest);
    assert.strictEqual(answer.body.error.code, code);
  };

  const eventId = "js 1.1 ev/1 é?#%";
  const rank = { body: { actions, eventId, deferActivation: true, contextFeatures: [{ user: { age: 31 } }] } };
  const told = (await called(201, "post", "/rank", [], rank)).body;
  assert.strictEqual(told.eventId, eventId);
  await called(204, "post", "/events/{eventId}/activate", [eventId]);
  await called(204, "post", "/events/{eventId}/reward", [eventId], { body: { value: 0.5 } });

  const slots = { actions, slots: [{ id: "first", baselineAction: "hat" }] };
  const reward = { reward: [{ slotId: "first", value: 1 }] };
  const noSlots = [400, "InvalidMultiSlotApiAccess", "post"];
  await refused(...noSlots, "/multislot/rank", [], { body: slots });
  await refused(...noSlots, "/multislot/events/{eventId}/reward", ["e"], { body: reward });
  await refused(...noSlots, "/multislot/events/{eventId}/activate", ["e"]);

  const before = (await called(200, "get", "/configurations/service")).body;
  const wanted = { ...before, rewardWaitTime: "PT5S", explorationPercentage: 0.5 };
  const after = (await called(200, "put", "/configurations/service", [], { body: wanted })).body;
  assert.strictEqual(after.rewardWaitTime, "PT5S");
  const policy = { name: "mine", arguments: "--cb_explore_adf --regcb" };
  assert.deepStrictEqual((await called(200, "put", "/configurations/policy", [], { body: policy })).body, policy);
  assert.deepStrictEqual((await called(200, "get", "/configurations/policy")).body, policy);
  const usual = (await called(200, "delete", "/configurations/policy")).body;
  assert.ok(usual.arguments.startsWith("--cb_explore_adf --epsilon 0.2"));

  const short = (await called(201, "post", "/rank", [], { body: { actions } })).body.eventId;
  await called(204, "post", "/events/{eventId}/reward", [short], { body: { value: 1 } });
  await new Promise((resolve) => setTimeout(resolve, 6000)); // its window of five seconds closes
  const hour = 3600e3;
  const [startTime, endTime] = [-hour, hour].map((more) => new Date(Date.now() + more).toISOString());
  const contract = { name: "mine", startTime, endTime, policies: [policy] };
  const made = await called(201, "post", "/evaluations", [], { body: contract });
  const { id } = made.body;
  assert.ok(made.headers.location.endsWith(`/evaluations/${id}`));
  assert.strictEqual((await called(200, "get", "/evaluations")).body[0].id, id);
  const sources = (await called(200, "get", "/evaluations/{evaluationId}", [id])).body.policyResults;
  assert.deepStrictEqual(sources.map((one) => one.policySource), ["Online", "Baseline", "Random", "Custom"]);
  const reference = { body: { evaluationId: id, policyName: "mine" } };
  await called(204, "post", "/configurations/applyFromEvaluation", [], reference);
  assert.deepStrictEqual((await called(200, "get", "/configurations/policy")).body, policy);
  await called(204, "delete", "/evaluations/{evaluationId}", [id]);
  await refused(404, "EvaluationNotFound", "get", "/evaluations/{evaluationId}", [id]);

  await called(200, "get", "/model");
  await called(200, "get", "/model", [], { queryParameters: { signed: true } });
  const times = (await called(200, "get", "/model/properties")).body;
  assert.ok(times.creationTime <= times.lastModifiedTime);
  const bytes = { body: new Uint8Array([1, 2, 3]), contentType: "application/octet-stream" };
  await refused(403, "ModelFileAccessDenied", "put", "/model", [], bytes);
  await called(204, "delete", "/model");
  await refused(403, "InvalidApiAccess", "post", "/logs/interactions", [], bytes);
  await refused(403, "InvalidApiAccess", "post", "/logs/observations", [], bytes);
  const range = (await called(200, "get", "/logs/properties")).body.dateRange;
  assert.ok(range.from <= range.to);
  await called(204, "delete", "/logs");
  await refused(404, "LogsPropertiesNotFound", "get", "/logs/properties");
}

version10(address)
  .then(() => version10(`${address}/`))
  .then(version11)
  .catch((error) => {
    console.error(error);
    process.exitCode = 1;
  });
