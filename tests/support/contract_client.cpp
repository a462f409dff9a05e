#include "tests/support/contract_client.hpp"

#include "tests/support/contract_shapes.hpp"
#include "tests/support/v1_lines.hpp"

#include <algorithm>
#include <stdexcept>

namespace tidemark::test {
namespace {

std::string message_body(const std::string& workspace, const std::string& content,
                         const std::string& source) {
  auto body = json::object();
  body["role"] = "user";
  body["content"] = content;
  body["workspace_id"] = workspace;
  body["source_chat_key"] = source;
  body["env_vars"] = json::object();
  return body.dump(-1, ' ', true); // as Python's json.dumps: everything but ASCII is escaped
}

bool is_sign_of_life(const json& frame) {
  const auto type = string_or(frame, "type");
  return type == "chunk" || type.starts_with("tool_");
}

void take(task_outcome& seen, json frame) {
  if (auto fault = frame_fault(frame); !fault.empty())
    seen.faults.push_back(std::move(fault));
  if (seen.error)
    seen.faults.push_back("an object after the error: " + frame.dump());
  if (string_or(frame, "type") == "error")
    seen.error = frame;
  seen.text += string_or(frame, "chunk");
  seen.frames.push_back(std::move(frame));
}

} // namespace

std::vector<json> task_outcome::of(const std::string& type) const {
  std::vector<json> found;
  std::copy_if(frames.begin(), frames.end(), std::back_inserter(found),
               [&](const json& frame) { return string_or(frame, "type") == type; });
  return found;
}

json contract_client::call(const std::string& method, const std::string& path,
                           const std::string& shape, const std::string& body) const {
  const auto answer = v1_test::call(server_, method, path, body);
  const auto fault = answer.status == 200 ? contract_fault(answer.body, shape)
                                          : "answered " + std::to_string(answer.status);
  if (!fault.empty())
    throw std::runtime_error(method + ' ' + path + ": " + fault + " in " + answer.body.dump());
  return answer.body;
}

json contract_client::get(const std::string& path, const std::string& shape) const {
  return call("GET", path, shape);
}

json contract_client::post(const std::string& path, const std::string& shape,
                           const std::string& body) const {
  return call("POST", path, shape, body);
}

json contract_client::remove(const std::string& path, const std::string& shape) const {
  return call("DELETE", path, shape);
}

contract_task::contract_task(const contract_client& client, std::string workspace,
                             const std::string& content, const std::string& source)
  : client_(client),
    workspace_(std::move(workspace)),
    call_(client.server(), "POST", "/api/v1/message/stream",
          message_body(workspace_, content, source)) {}

task_outcome contract_task::so_far() const {
  task_outcome seen;
  if (call_.status() != 200 && !call_.received().empty())
    seen.faults.push_back("the stream answered " + std::to_string(call_.status()));
  auto lines = v1_test::python_lines(call_.body());
  if (!call_.complete())
    lines.pop_back(); // may not be whole yet
  for (const auto& line : lines) {
    if (!line.starts_with("data:"))
      continue;
    auto frame = json::parse(line.substr(5), nullptr, false);
    if (frame.is_object())
      take(seen, std::move(frame));
    else
      seen.faults.push_back("a line that is no JSON object: " + line);
  }
  seen.clean_end = call_.ended_properly();
  return seen;
}

bool contract_task::read_until(const std::string& type) {
  const auto until = v1_test::v1_call::clock::now() + std::chrono::seconds{20};
  while (so_far().of(type).empty())
    if (!call_.read_more(until))
      return !so_far().of(type).empty();
  return true;
}

task_outcome contract_task::finish(std::chrono::milliseconds patience) {
  using clock = v1_test::v1_call::clock;
  std::ptrdiff_t signs = 0;
  auto patient_until = clock::now() + patience;
  while (call_.read_more(patient_until)) {
    const auto frames = so_far().frames;
    const auto now_seen = std::count_if(frames.begin(), frames.end(), is_sign_of_life);
    if (now_seen > signs)
      patient_until = clock::now() + patience;
    signs = now_seen;
  }
  auto seen = so_far();
  if (!call_.complete() && clock::now() >= patient_until) {
    seen.gave_up = true;
    client_.remove("/api/v1/workspaces/" + workspace_ + "/queue/current", "Cancel");
  }
  call_.leave(false);
  return seen;
}

} // namespace tidemark::test
