#include "agents/demo_protocol.hpp"

#include "base/time.hpp"

#include <utility>

namespace tidemark {
namespace {

constexpr int input_tokens = 10;
constexpr int output_tokens = 20;
constexpr double cost_of_message = 0.00055;

json usage(int messages) {
  return json::object({{"input_tokens", messages * input_tokens},
                       {"output_tokens", messages * output_tokens},
                       {"cache_creation_input_tokens", 0},
                       {"cache_read_input_tokens", 0},
                       {"service_tier", "standard"}});
}

std::string as_line(const json& fields) {
  return fields.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
}

json control_answer(json response) {
  return json::object({{"type", "control_response"}, {"response", std::move(response)}});
}

} // namespace

demo_protocol::demo_protocol(std::string session_name, std::string model_name,
                             std::vector<std::string> tool_names, std::string cwd, id_source new_id)
  : model_(std::move(model_name)),
    session_(std::move(session_name)),
    tools_(std::move(tool_names)),
    cwd_(std::move(cwd)),
    new_id_(std::move(new_id)) {}

void demo_protocol::set_permission_mode(std::string mode) {
  const std::lock_guard lock(mutex_);
  permission_mode_ = std::move(mode);
}

void demo_protocol::set_model(std::string name) {
  const std::lock_guard lock(mutex_);
  model_ = std::move(name);
}

std::string demo_protocol::permission_mode() const {
  const std::lock_guard lock(mutex_);
  return permission_mode_;
}

std::string demo_protocol::model() const {
  const std::lock_guard lock(mutex_);
  return model_;
}

std::string demo_protocol::line(json fields) const {
  fields["session_id"] = session_;
  fields["uuid"] = new_id_();
  return as_line(fields);
}

std::string demo_protocol::stream_event(json event) const {
  return line(json::object(
    {{"type", "stream_event"}, {"event", std::move(event)}, {"parent_tool_use_id", nullptr}}));
}

json demo_protocol::message(const json& content) const {
  return json::object({{"id", message_id_},
                       {"type", "message"},
                       {"role", "assistant"},
                       {"model", model()},
                       {"content", content},
                       {"stop_reason", nullptr},
                       {"stop_sequence", nullptr},
                       {"usage", usage(1)}});
}

void demo_protocol::begin_turn() {
  turn_messages_ = 0;
  denials_ = json::array();
}

std::string demo_protocol::init() const {
  return line(json::object({{"type", "system"},
                            {"subtype", "init"},
                            {"cwd", cwd_},
                            {"tools", tools_},
                            {"mcp_servers", mcp_servers_},
                            {"model", model()},
                            {"permissionMode", permission_mode()},
                            {"slash_commands", json::array({"clear", "compact"})},
                            {"apiKeySource", "none"},
                            {"claude_code_version", demo_version},
                            {"output_style", "default"},
                            {"agents", json::array({"general-purpose"})},
                            {"skills", json::array()},
                            {"plugins", json::array()},
                            {"capabilities", json::array()},
                            {"fast_mode_state", "off"}}));
}

std::string demo_protocol::status(const json& state) const {
  json fields = json::object({{"type", "system"}, {"subtype", "status"}, {"status", state}});
  if (state.is_null()) {
    fields["permissionMode"] = permission_mode();
  }
  return line(std::move(fields));
}

std::string demo_protocol::api_retry(int attempt, double delay_ms) const {
  return line(json::object({{"type", "system"},
                            {"subtype", "api_retry"},
                            {"attempt", attempt},
                            {"max_retries", 10},
                            {"retry_delay_ms", delay_ms},
                            {"error_status", 529},
                            {"error", "overloaded"}}));
}

std::string demo_protocol::rate_limit(std::string_view state) const {
  return line(json::object({{"type", "rate_limit_event"},
                            {"rate_limit_info", json::object({{"status", state},
                                                              {"resetsAt", 1900000000},
                                                              {"rateLimitType", "five_hour"},
                                                              {"utilization", 1.0}})}}));
}

std::string demo_protocol::task(std::string_view subtype, const std::string& id,
                                const json& fields) const {
  json all = fields;
  all["type"] = "system";
  all["subtype"] = subtype;
  all["task_id"] = id;
  return line(std::move(all));
}

std::string demo_protocol::background_tasks(const json& tasks) const {
  return line(
    json::object({{"type", "system"}, {"subtype", "background_tasks_changed"}, {"tasks", tasks}}));
}

std::string demo_protocol::message_start() {
  message_id_ = "msg_demo_" + std::to_string(++message_serial_);
  block_index_ = -1;
  ++turn_messages_;
  ++total_messages_;
  return stream_event(
    json::object({{"type", "message_start"}, {"message", message(json::array())}}));
}

std::string demo_protocol::block_start(const json& block) {
  ++block_index_;
  return stream_event(json::object(
    {{"type", "content_block_start"}, {"index", block_index_}, {"content_block", block}}));
}

std::string demo_protocol::delta(const json& change) const {
  return stream_event(
    json::object({{"type", "content_block_delta"}, {"index", block_index_}, {"delta", change}}));
}

std::string demo_protocol::block_stop() {
  return stream_event(json::object({{"type", "content_block_stop"}, {"index", block_index_}}));
}

std::string demo_protocol::message_end(std::string_view stop_reason) {
  return stream_event(json::object(
           {{"type", "message_delta"},
            {"delta", json::object({{"stop_reason", stop_reason}, {"stop_sequence", nullptr}})},
            {"usage", json::object({{"output_tokens", output_tokens}})}}))
         + stream_event(json::object({{"type", "message_stop"}}));
}

std::string demo_protocol::assistant(const json& block) const {
  return line(json::object({{"type", "assistant"},
                            {"message", message(json::array({block}))},
                            {"parent_tool_use_id", nullptr}}));
}

std::string demo_protocol::synthetic(const std::string& text, const std::string& error) const {
  json made_up = message(json::array({json::object({{"type", "text"}, {"text", text}})}));
  made_up["id"] = new_id_();
  made_up["model"] = "<synthetic>";
  made_up["stop_reason"] = "stop_sequence";
  made_up["usage"] = usage(0);
  return line(json::object({{"type", "assistant"},
                            {"message", std::move(made_up)},
                            {"parent_tool_use_id", nullptr},
                            {"error", error}}));
}

std::string demo_protocol::tool_result(const std::string& id, const std::string& content,
                                       bool is_error) const {
  json block = json::object(
    {{"type", "tool_result"}, {"tool_use_id", id}, {"content", content}, {"is_error", is_error}});
  return line(json::object(
    {{"type", "user"},
     {"message", json::object({{"role", "user"}, {"content", json::array({std::move(block)})}})},
     {"parent_tool_use_id", nullptr},
     {"timestamp", iso8601(now_utc())}}));
}

std::string demo_protocol::user_text(const std::string& text) const {
  json block = json::object({{"type", "text"}, {"text", text}});
  return line(json::object(
    {{"type", "user"},
     {"message", json::object({{"role", "user"}, {"content", json::array({std::move(block)})}})},
     {"parent_tool_use_id", nullptr},
     {"timestamp", iso8601(now_utc())}}));
}

std::string demo_protocol::replayed_prompt(const std::string& prompt) const {
  return line(json::object({{"type", "user"},
                            {"message", json::object({{"role", "user"}, {"content", prompt}})},
                            {"parent_tool_use_id", nullptr},
                            {"isReplay", true}}));
}

void demo_protocol::denied(const std::string& tool, const std::string& id, const json& input) {
  denials_.push_back(
    json::object({{"tool_name", tool}, {"tool_use_id", id}, {"tool_input", input}}));
}

std::string demo_protocol::result(const demo_ending& how) const {
  json fields =
    json::object({{"type", "result"},
                  {"subtype", how.subtype},
                  {"is_error", how.is_error},
                  {"api_error_status", how.api_error_status},
                  {"duration_ms", 12},
                  {"duration_api_ms", 10},
                  {"num_turns", turn_messages_},
                  {"stop_reason", how.stop_reason},
                  {"total_cost_usd", static_cast<double>(total_messages_) * cost_of_message},
                  {"usage", usage(turn_messages_)},
                  {"modelUsage", json::object()},
                  {"permission_denials", denials_},
                  {"terminal_reason", how.terminal_reason}});
  if (how.subtype == "success") {
    fields["result"] = how.text;
  }
  if (!how.errors.is_null()) {
    fields["errors"] = how.errors;
  }
  if (how.from_background) {
    fields["origin"] = json::object({{"kind", "task-notification"}});
  }
  return line(std::move(fields));
}

std::string demo_protocol::tool_use_id() {
  return "toolu_demo_" + std::to_string(++tool_serial_);
}

std::string control_success(const std::string& request_id, const json& response) {
  json answer = json::object({{"subtype", "success"}, {"request_id", request_id}});
  if (!response.is_null()) {
    answer["response"] = response;
  }
  return as_line(control_answer(std::move(answer)));
}

std::string control_error(const std::string& request_id, const std::string& why) {
  return as_line(control_answer(
    json::object({{"subtype", "error"}, {"request_id", request_id}, {"error", why}})));
}

std::string control_request(const std::string& request_id, const json& request) {
  return as_line(
    json::object({{"type", "control_request"}, {"request_id", request_id}, {"request", request}}));
}

std::string control_cancel(const std::string& request_id) {
  return as_line(json::object({{"type", "control_cancel_request"}, {"request_id", request_id}}));
}

json can_use_tool(const std::string& tool, const std::string& tool_use_id, const json& input) {
  json rule = json::object({{"toolName", tool}, {"ruleContent", string_or(input, "command")}});
  json suggestion = json::object({{"type", "addRules"},
                                  {"rules", json::array({std::move(rule)})},
                                  {"behavior", "allow"},
                                  {"destination", "localSettings"}});
  return json::object({{"subtype", "can_use_tool"},
                       {"tool_name", tool},
                       {"display_name", tool},
                       {"input", input},
                       {"description", string_or(input, "description")},
                       {"permission_suggestions", json::array({std::move(suggestion)})},
                       {"blocked_path", nullptr},
                       {"tool_use_id", tool_use_id}});
}

} // namespace tidemark
