-- The health of a LoomAgent for Argo CD, read from its condition Ready. Copy it
-- into the ConfigMap argocd-cm, under the key
--   resource.customizations.health.loom.beyond10x.dev_LoomAgent
--
-- Healthy      Ready is True.
-- Progressing  It is not, and either nothing is wrong or what is missing may
--              still come with the same application.
-- Suspended    Somebody asked for rest.
-- Degraded     Anything else. The message says what to do.

local meanings = {
  Running = "Progressing",
  RolloutInProgress = "Progressing",
  ReplacingVariant = "Progressing",
  ChildTerminating = "Progressing",
  ReferenceMissing = "Progressing",
  Suspended = "Suspended",
  Paused = "Suspended",
  JobSuspended = "Suspended",
  ScaledToZero = "Suspended",
}

local health = { status = "Progressing", message = "The operator has not examined this generation yet." }

if obj.status == nil or obj.status.conditions == nil or obj.status.observedGeneration ~= obj.metadata.generation then
  return health
end

for _, condition in ipairs(obj.status.conditions) do
  if condition.type == "Ready" then
    health.message = condition.message
    if condition.status == "True" then
      health.status = "Healthy"
    else
      health.status = meanings[condition.reason] or "Degraded"
    end
  end
end

return health
